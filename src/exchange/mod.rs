//! How the workers of one process share consumption, so that a limit is the process's and not a worker's.
