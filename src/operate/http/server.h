// A web server: HTTP/1.1 by Boost.Beast, HTTP/2 by nghttp2, TLS by OpenSSL. One thread moves the
// bytes; handlers run on it, and answer there or later from any thread.
//
//   auto server = HONE_TRY(HttpServer::start({.port = 8080}, handler));
//   server->drain(30);                              // refuses connections; waits up to 30 s for open requests
#pragma once

#include <cstdint>

#include "base/core/error.h"
#include "operate/http/options.h"
#include "operate/http/request.h"

namespace hone {

// Whether other machines can reach a server that listens at `host`: false for "localhost", for a loopback address, and
// for a text that is not an address.
bool is_reached_by_others(const std::string& host);

class HttpServer {
 public:
  // Listens, and starts the thread. `names` are the flags that set the host and the port, for error messages. Errors:
  // H3301 it cannot listen at this address; H3302 the TLS files cannot be used, or only one of them is given.
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options, WebHandler handler,
                                                   WebHooks hooks = {},
                                                   const std::string& names = "--host --port");
  // Reads the TLS files as start() would, without starting. Error H3302: they cannot be used.
  static Status check_tls(const HttpOptions& options);
  // Listens for a moment. Error H3301: it cannot listen at this address now.
  static Status check_address(const HttpOptions& options, const std::string& names);
  // Ends all connections. Destroy all WebReply objects of the server first.
  ~HttpServer();
  // Ends the server's thread. WebReply objects that exist may still be used: their answers are discarded.
  void stop();

  int port() const;         // the port at which it listens
  std::string url() const;  // "http://127.0.0.1:8080"

  // Refuses new connections, and ends each connection as soon as its open requests are answered. Waits at most
  // `seconds` until all connections have ended. Returns false if some are still open then.
  bool drain(double seconds);
  int64_t requests() const;  // number of requests that are not answered yet

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
