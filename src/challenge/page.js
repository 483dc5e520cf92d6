(function () {
  "use strict";

  // Finds the smallest n whose SHA-256(token + ":" + n) begins with enough zero bits. A worker is made of this function's
  // own text, so it uses nothing from outside. Integers alone: what hardened browsers change is floats and the JIT.
  function solver(token) {
    function words(hex) {
      var out = new Int32Array(hex.length >> 3), i;
      for (i = 0; i < out.length; i++) out[i] = parseInt(hex.substr(i << 3, 8), 16);
      return out;
    }
    var K = words(
      "428a2f9871374491b5c0fbcfe9b5dba53956c25b59f111f1923f82a4ab1c5ed5d807aa9812835b01243185be550c7dc372be5d7480deb1fe9bdc06a7c19bf174" +
      "e49b69c1efbe47860fc19dc6240ca1cc2de92c6f4a7484aa5cb0a9dc76f988da983e5152a831c66db00327c8bf597fc7c6e00bf3d5a7914706ca635114292967" +
      "27b70a852e1b21384d2c6dfc53380d13650a7354766a0abb81c2c92e92722c85a2bfe8a1a81a664bc24b8b70c76c51a3d192e819d6990624f40e3585106aa070" +
      "19a4c1161e376c082748774c34b0bcb5391c0cb34ed8aa4a5b9cca4f682e6ff3748f82ee78a5636f84c878148cc7020890befffaa4506cebbef9a3f7c67178f2"
    );
    var S = words("6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19");
    var W = new Int32Array(64);
    // The last block or two of the message: what is left of the prefix, the counter, the padding.
    var M = new Int32Array(32);
    var prefix = token + ":", rest = prefix.length & 63, digits, two, i;

    // One block of M, from the word `at`, into the state S.
    function compress(at) {
      var i, x, y, t, a = S[0], b = S[1], c = S[2], d = S[3], e = S[4], f = S[5], g = S[6], h = S[7];
      for (i = 0; i < 16; i++) W[i] = M[at + i];
      for (; i < 64; i++) {
        x = W[i - 15];
        y = W[i - 2];
        W[i] = (W[i - 16] + W[i - 7] + ((x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3) +
          ((y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10)) | 0;
      }
      for (i = 0; i < 64; i++) {
        t = (h + ((e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)) + (g ^ e & (f ^ g)) + K[i] + W[i]) | 0;
        x = (((a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)) + (a & b ^ c & (a ^ b))) | 0;
        h = g;
        g = f;
        f = e;
        e = (d + t) | 0;
        d = c;
        c = b;
        b = a;
        a = (t + x) | 0;
      }
      S[0] += a;
      S[1] += b;
      S[2] += c;
      S[3] += d;
      S[4] += e;
      S[5] += f;
      S[6] += g;
      S[7] += h;
    }

    function put(at, byte) {
      M[at >> 2] |= byte << (24 - ((at & 3) << 3));
    }

    // The whole blocks of the prefix are the same for every counter: hashed once.
    for (i = 0; i < prefix.length; i++) {
      put(i & 63, prefix.charCodeAt(i));
      if ((i & 63) === 63) {
        compress(0);
        M.fill(0);
      }
    }
    var head = S.slice(), tail = M.slice();

    function write(n) {
      var text = "" + n, i;
      digits = text.length;
      M.set(tail);
      for (i = 0; i < digits; i++) put(rest + i, text.charCodeAt(i));
      put(rest + digits, 128);
      two = rest + digits + 9 > 64;
      M[two ? 31 : 15] = (prefix.length + digits) << 3;
    }

    // Counts up in the block itself, digit by digit as on paper; only another digit (99 to 100) writes it anew.
    function increment(n) {
      var at, shift;
      for (at = rest + digits - 1; at >= rest; at--) {
        shift = 24 - ((at & 3) << 3);
        if ((M[at >> 2] >>> shift & 255) !== 57) {
          M[at >> 2] += 1 << shift;
          return;
        }
        M[at >> 2] -= 9 << shift;
      }
      write(n);
    }

    function zeros() {
      S.set(head);
      compress(0);
      if (two) compress(16);
      return S[0] ? Math.clz32(S[0]) : 32 + Math.clz32(S[1]);
    }

    return {
      // The first of `count` counters that will do, or -1.
      find: function (bits, from, count) {
        var n = from, end = from + count;
        write(n);
        while (zeros() < bits) {
          if (++n === end) return -1;
          increment(n);
        }
        return n;
      },
      zeros: function (n) {
        write(n);
        return zeros();
      }
    };
  }

  // The worker's whole program, beside `solver`: tells how far it is, and at last what it found.
  function work() {
    onmessage = function (event) {
      var search = solver(event.data.token), from = 0, found;
      do {
        found = search.find(event.data.bits, from, 25000);
        from += 25000;
        postMessage({ tried: from, found: found });
      } while (found < 0);
    };
  }

  function element(selector) {
    return document.querySelector(selector);
  }

  var main = element("main"), bar = element("progress"), settled = false;
  var token = main.dataset.token, bits = parseInt(main.dataset.bits, 10), wait = parseInt(main.dataset.wait, 10);

  function say(text) {
    element("#status").textContent = text;
  }

  // Where the answer goes. The browser's own URL is what was asked for, its fragment included.
  function answer(counter) {
    var to = location.pathname + location.search + location.hash;
    return main.dataset.answer + "?p=" + encodeURIComponent(token) + counter + "&to=" + encodeURIComponent(to);
  }

  function stop(state, title, text) {
    settled = true;
    main.dataset.state = state;
    document.title = element("h1").textContent = title;
    element("#what").hidden = bar.hidden = true;
    say(text);
    element("#again").hidden = false;
    element("#again a").onclick = function () {
      location.reload();
      return false;
    };
  }

  // The way without scripts, where it is open, is open to those too whose scripts fail.
  function fail() {
    if (settled) return;
    var text = "Your browser could not do the calculation that this site asks for while it gets unusually many requests.";
    if (wait >= 0) {
      text += " This page goes on by itself in " + wait + " seconds.";
      setTimeout(function () { location.replace(answer("")); }, wait * 1000);
    } else {
      text += " Another browser may, or this one without extensions. If it keeps failing, tell the site the reason id below.";
    }
    stop("failed", "That did not work", text);
  }

  function guarded(step) {
    return function (argument) {
      try {
        step(argument);
      } catch (error) {
        fail();
      }
    };
  }

  // The expected progress: how likely it was to have found one by now. Only shown, so floats will do.
  function progress(tried) {
    bar.value = Math.floor(100 * (1 - Math.exp(-tried / Math.pow(2, bits))));
  }

  function done(n) {
    if (settled) return;
    // Looked at again, from the start: a wrong answer would only come back as another puzzle.
    if (!(solver(token).zeros(n) >= bits)) throw new Error("wrong");
    settled = true;
    main.dataset.state = "done";
    bar.value = 100;
    say("Done. The page is opening.");
    location.replace(answer("&n=" + n));
  }

  // Without a worker: in steps that leave the page its breath.
  function inSteps() {
    var search = solver(token), from = 0, count = 500;
    var step = guarded(function () {
      var begun = Date.now(), found = search.find(bits, from, count);
      if (found >= 0) return done(found);
      from += count;
      progress(from);
      if (Date.now() - begun < 20) count <<= 1;
      setTimeout(step, 0);
    });
    step();
  }

  function inWorker() {
    var source = new Blob(["var solver=", solver, ";(", work, ")()"], { type: "text/javascript" });
    var worker = new Worker(URL.createObjectURL(source));
    worker.onmessage = guarded(function (event) {
      if (event.data.found < 0) return progress(event.data.tried);
      done(event.data.found);
    });
    worker.onerror = guarded(function (event) {
      event.preventDefault();
      worker.terminate();
      main.dataset.state = "working in steps";
      inSteps();
    });
    worker.postMessage({ token: token, bits: bits });
  }

  // Chromium says `cookieEnabled` even where it keeps none, so one is tried: of a name of its own, for another tab may
  // be trying too.
  function keepsCookies() {
    if (navigator.cookieEnabled === false) return false;
    var name = "weir-try-" + Date.now() + Math.random();
    try {
      document.cookie = name + "=1; SameSite=Lax";
      var kept = document.cookie.indexOf(name) >= 0;
      document.cookie = name + "=; Max-Age=0; SameSite=Lax";
      return kept;
    } catch (error) {
      return false;
    }
  }

  guarded(function () {
    if (!keepsCookies()) {
      return stop("cookies off", "Cookies are off", "This site is getting unusually many requests. It checks that yours come from a " +
        "browser, and keeps the result in a cookie. Allow cookies for this site, then try again.");
    }
    if (!(bits >= 0)) throw new Error("no puzzle");
    main.dataset.state = "working";
    say("Calculating…");
    setTimeout(function () {
      if (!settled) say("Still calculating. This takes longer than usual; please leave the page open.");
    }, 10000);
    try {
      inWorker();
    } catch (error) {
      main.dataset.state = "working in steps";
      inSteps();
    }
  })();
})();
