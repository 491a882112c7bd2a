// The sliders of the single wait. All times come from the data of this page; energy is times by watts.
(function () {
  "use strict";
  const at = (id) => document.getElementById(id);
  const data = JSON.parse(at("wait-data").textContent);
  const watts = Object.fromEntries(data.watts);
  const names = { poll: "poll", hybrid: "hybrid", interrupt: "interrupt", uintr: "uintr + TPAUSE" };
  const us = (ns) => (ns / 1000).toFixed(ns < 99950 ? 1 : 0) + " µs";
  const words = {
    work: "submits, completes or handles", spin: "polls in vain", kernel: "runs in the kernel",
    idle: "is idle", exit: "leaves the idle state", pause: "pauses in TPAUSE", cold: "runs with cold caches",
  };

  function joules(wait, saving) {
    const of = (doing) =>
      doing === "idle" || doing === "exit" ? wait.idle_watts
        : doing === "pause" ? watts.spin * (1 - saving / 100)
          : watts[doing];
    return wait.steps.reduce((sum, step) => sum + of(step.doing) * step.ns * 1e-9, wait.wake_joules);
  }

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // A bar of steps, each as wide as it is long.
  function bar(steps, whole) {
    const row = element("div", "bar-row");
    for (const step of steps) {
      const part = element("span", "w-" + step.doing);
      part.style.width = (100 * step.ns / whole).toFixed(3) + "%";
      part.title = (words[step.doing] || step.words) + " for " + us(step.ns);
      row.append(part);
    }
    return row;
  }

  function sentence(chosen) {
    const { poll, hybrid } = chosen;
    const late = hybrid.seen - poll.seen;
    if (hybrid.timer_at === null) return "";
    const planned = hybrid.timer_at - hybrid.rung;
    const woke = hybrid.steps.some((step) => step.doing === "idle");
    const learnt = us(2 * planned);
    const start = "Hybrid has learnt that a read takes " + learnt + ", so it asks to be woken after " + us(planned);
    if (!woke) {
      return start + ": setting the timer and switching away take longer than that, so that the timer fires at once.";
    }
    if (late > 150) {
      return start + ". The device is done after " + us(hybrid.finished - hybrid.rung) +
        ", but the late timer, the idle state and the switch back bring the core there only after " +
        us(hybrid.seen - hybrid.rung) + ": it overslept, " + us(late) + " later than polling, and its own lateness is in what it learns.";
    }
    const spun = hybrid.steps.filter((step) => step.doing === "spin").reduce((sum, step) => sum + step.ns, 0);
    return start + " and is back in time. It polls in vain for " + us(spun) + ", where polling does for " +
      us(poll.steps.filter((step) => step.doing === "spin").reduce((sum, step) => sum + step.ns, 0)) + ".";
  }

  function show() {
    const device = Number(at("wait-device").value), late = Number(at("wait-late").value);
    const saving = Number(at("wait-saving").value);
    const share = Number(document.querySelector("#wait input[name=share]:checked").value);
    at("wait-device-out").textContent = data.device_us[device] + " µs";
    at("wait-late-out").textContent = data.late_us[late] + " µs";
    at("wait-saving-out").textContent = saving + " %";
    const chosen = {};
    for (const { mode, waits } of data.modes) {
      const by = waits[device];
      chosen[mode] = by[Math.min(late, by.length - 1)][share];
    }
    const length = (wait) => wait.steps.reduce((sum, step) => sum + step.ns, 0);
    const whole = Math.max(...Object.values(chosen).map(length)) * 1.02;
    const bars = element("div", "bars");
    const first = chosen.poll;
    const lines = [["device", "device", [{ doing: "none", ns: first.rung, words: "not yet submitted" },
      { doing: "device", ns: first.finished - first.rung, words: "works" }], ""]];
    for (const [mode, wait] of Object.entries(chosen)) {
      lines.push([mode, names[mode], wait.steps, us(length(wait))]);
    }
    for (const [, name, steps, total] of lines) {
      const head = element("div", "bar-head");
      head.append(element("span", "", name), element("span", "muted", total));
      const row = bar(steps, whole);
      const end = element("i", "done-line");
      end.style.left = (100 * first.finished / whole).toFixed(3) + "%";
      row.append(end);
      bars.append(head, row);
    }
    bars.append(element("div", "bar-foot", "the line: the device is done"));
    at("wait-bars").replaceChildren(bars);
    at("wait-words").textContent = sentence(chosen);
    const base = joules(chosen.poll, saving);
    const rows = Object.entries(chosen).map(([mode, wait]) => {
      const row = element("tr");
      const head = element("th", "", names[mode]);
      head.scope = "row";
      const energy = joules(wait, saving);
      row.append(head, element("td", "", us(length(wait))),
        element("td", "", us(Math.max(0, wait.seen - wait.finished))),
        element("td", "", (energy * 1e6).toFixed(1) + " µJ"),
        element("td", "", (100 * energy / base).toFixed(0) + " %"));
      return row;
    });
    at("wait-table").replaceChildren(...rows);
  }

  document.querySelector("#wait form").addEventListener("input", show);
  document.querySelector("#wait form").addEventListener("submit", (event) => event.preventDefault());
  show();
})();
