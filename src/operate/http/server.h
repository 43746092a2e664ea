// A web server: HTTP/1.1 by Boost.Beast, HTTP/2 by nghttp2, TLS by OpenSSL. One thread moves the
// bytes; handlers run on it, and answer there or later from any thread.
//
//   auto server = HONE_TRY(HttpServer::start({.port = 8080}, handler));
//   server->drain(30);                              // no new connections; open requests finish
#pragma once

#include <cstdint>

#include "base/core/error.h"
#include "operate/http/options.h"
#include "operate/http/request.h"

namespace hone {

// False: only this machine reaches a server that listens there.
bool is_reached_by_others(const std::string& host);

class HttpServer {
 public:
  // Binds and starts the thread. `names`: the flags of host and port, for errors. H3301 cannot
  // listen, H3302 bad TLS files.
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options, WebHandler handler,
                                                   WebHooks hooks = {},
                                                   const std::string& names = "--host --port");
  // Checks of what start() needs, before something is given up for it. H3302.
  static Status check_tls(const HttpOptions& options);
  // H3301: the address cannot be listened at now.
  static Status check_address(const HttpOptions& options, const std::string& names);
  // Ends all connections. Replies must be destroyed before.
  ~HttpServer();
  // Stops answering. Replies still held elsewhere are safe to use and are discarded.
  void stop();

  int port() const;
  std::string url() const;  // "http://127.0.0.1:8080"

  // Refuses new connections, waits until open requests are answered, and ends idle connections.
  // False: some requests were not answered in time.
  bool drain(double seconds);
  int64_t requests() const;  // open ones

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
