// A web server: HTTP/1.1 by Boost.Beast, HTTP/2 by nghttp2, TLS by OpenSSL. One thread moves the
// bytes; handlers run on it, and answer there or later from any thread.
//
//   auto server = HONE_TRY(HttpServer::start({.port = 8080}, handler));
//   server->drain(30);                              // no new connections; what runs is finished
#pragma once

#include <cstdint>

#include "base/core/error.h"
#include "operate/http/options.h"
#include "operate/http/request.h"

namespace hone {

class HttpServer {
 public:
  // `names`: the flags of host and port for errors. H3301 cannot listen, H3302 bad TLS files.
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options, WebHandler handler,
                                                   const std::string& names = "--host --port");
  // Ends all connections. Replies must be gone before.
  ~HttpServer();
  // Answers nothing any more; replies that others hold may still be used, and reach nobody.
  void stop();

  int port() const;
  std::string url() const;  // "http://127.0.0.1:8080"

  // Takes no new connections, lets requests be answered, and ends the connections that have none;
  // false: some were not done in this time.
  bool drain(double seconds);
  int64_t requests() const;  // that are being answered

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
