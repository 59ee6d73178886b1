// A connection to the program that can be cut: a port that passes requests on to it.

import http from 'node:http';

export class Wire {
  // Requests since it was cut.
  refused = 0;
  #isCut = false; #server;

  static async to(program) {
    const wire = new Wire();
    wire.#server = http.createServer((asked, answer) => wire.#pass(program, asked, answer));
    await new Promise(resolve => wire.#server.listen(0, '127.0.0.1', resolve));
    wire.url = `http://127.0.0.1:${wire.#server.address().port}`;
    return wire;
  }

  #pass(program, asked, answer) {
    if (this.#isCut) {
      this.refused += 1;
      answer.destroy();
      return;
    }
    // The program serves its own name only, and reads where a request comes from.
    const headers = { ...asked.headers, host: new URL(program.url).host };
    delete headers.origin;
    const request = http.get(program.url + asked.url, { headers }, response => {
      answer.writeHead(response.statusCode, response.headers);
      response.pipe(answer);
    });
    // A cut is meant; both ends end with it.
    request.on('error', () => answer.destroy());
    answer.on('close', () => request.destroy());
  }

  // Cuts all connections, and each new one at once.
  cut() {
    this.#isCut = true;
    this.refused = 0;
    this.#server.closeAllConnections();
  }

  join() {
    this.#isCut = false;
  }

  end() {
    this.cut();
    this.#server.close();
  }
}
