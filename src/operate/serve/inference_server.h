// A web server with the routes: who may ask, what is counted, how it ends.
#pragma once

#include <boost/asio/thread_pool.hpp>

#include "operate/http/server.h"
#include "operate/serve/route.h"

namespace hone {

struct InferenceOptions {
  HttpOptions http;
  std::vector<std::string> keys;     // one of them must be sent; none: everybody may ask
  std::vector<std::string> origins;  // of web pages that may ask (CORS); "*": all
  int threads = 2;                   // that read requests
};

class InferenceServer {
 public:
  // The context must outlive it. Errors of HttpServer::start.
  static Result<std::unique_ptr<InferenceServer>> start(const InferenceOptions& options,
                                                        std::vector<Route> routes,
                                                        ServeContext& context);
  ~InferenceServer();
  // Takes and answers nothing any more. Loads end, and the models of the context are joined first: replies use what
  // goes with the server. Before the models go.
  void stop();

  int port() const { return http_->port(); }
  std::string url() const { return http_->url(); }
  // A request that came another way.
  void take(WebRequest request, const std::shared_ptr<WebReply>& reply);
  // Not ready from now on; requests that came are answered. False: not all in this time.
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
