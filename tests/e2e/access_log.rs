//! The access log shows what Weir decided and why.

use serde_json::json;

use crate::configs::{enforce, served, slow_rule};
use crate::harness::{Proxy, Upstream, get};

#[tokio::test]
async fn a_refusal_is_told_from_envoys_own_and_the_upstreams() {
    let upstream = Upstream::start().await;
    for (action, status) in [("throttle", 429), ("deny", 403)] {
        let proxy = Proxy::with(enforce(json!([slow_rule("r", 1, &[action])]))).start(&upstream).await;
        served(&mut proxy.http1(), 2, get("/")).await;

        let lines = proxy.access_log(2).await;
        let (passed, refused) = (&lines[0], &lines[1]);
        assert_eq!((passed.status, passed.details.as_deref()), (200, Some("via_upstream")));
        assert_ne!(passed.decision.as_deref(), Some(action));
        assert_eq!(refused.status, status);
        assert_eq!(refused.decision.as_deref(), Some(action), "{refused:?}");
        assert!(
            refused.reason.as_ref().is_some_and(|reason| reason.contains("rule=r client:127.0.0.1")),
            "{refused:?}"
        );
        assert!(refused.details.as_ref().is_some_and(|details| details.contains("weir")), "{refused:?}");
    }
}

#[tokio::test]
async fn what_observe_mode_would_have_done_is_in_the_access_log() {
    let upstream = Upstream::start().await;
    let config = json!({ "mode": "observe", "rules": [slow_rule("r", 1, &["deny"])] });
    let proxy = Proxy::with(config).start(&upstream).await;
    served(&mut proxy.http1(), 2, get("/")).await;

    let lines = proxy.access_log(2).await;
    assert_eq!(lines[1].status, 200);
    let told = format!("{:?} {:?}", lines[1].decision, lines[1].reason);
    assert!(told.contains("deny") && told.contains("observe"), "{told}");
}
