// The search runs in a worker, and a browser starts none from the disk: there the worker's program runs in a frame.
// The plugin "offline" takes a file of this name in place of one from the network.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = `<script src="${new URL(url, location)}"></script>`;
      this.program = new Promise((started) => {
        frame.onload = () => {
          frame.contentWindow.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          started(frame.contentWindow);
        };
      });
      document.body.append(frame);
    }

    postMessage(data) {
      this.program.then((program) => program.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
