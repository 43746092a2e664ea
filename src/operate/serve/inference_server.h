// A web server with the routes: access keys, metrics, and the order of its end.
#pragma once

#include <boost/asio/thread_pool.hpp>

#include "operate/http/server.h"
#include "operate/serve/route.h"

namespace hone {

struct InferenceOptions {
  HttpOptions http;
  std::vector<std::string> keys;     // requests must send one of them; none: no key is needed
  std::vector<std::string> origins;  // of web pages that may send requests (CORS); "*": all
  int threads = 2;                   // that read requests
};

class InferenceServer {
 public:
  // The context must outlive it. Errors of HttpServer::start.
  static Result<std::unique_ptr<InferenceServer>> start(const InferenceOptions& options,
                                                        std::vector<Route> routes,
                                                        ServeContext& context);
  ~InferenceServer();
  // Stops the server. First ends loads and joins all models, because their replies use it. Call
  // before the models are destroyed.
  void stop();

  int port() const { return http_->port(); }
  std::string url() const { return http_->url(); }
  // Handles a request that came over another transport.
  void take(WebRequest request, const std::shared_ptr<WebReply>& reply);
  // Not ready from now on; open requests are answered. False: not all were answered in time.
  bool drain(double seconds);

 private:
  InferenceServer(const InferenceOptions& options, std::vector<Route> routes,
                  ServeContext& context);
  void answer(WebRequest request, const std::shared_ptr<WebReply>& reply);
  bool allowed(const WebRequest& request) const;
  WebHeaders cors_of(const WebRequest& request) const;
  void read_loads();

  InferenceOptions options_;
  std::vector<Route> routes_;
  ServeContext& context_;
  LiveMetric& open_;
  std::unique_ptr<HttpServer> http_;  // outlives the replies that the pool holds
  boost::asio::thread_pool pool_;
};

}  // namespace hone
