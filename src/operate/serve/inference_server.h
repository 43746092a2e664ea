// A web server with the routes: access keys, metrics, and the order of its end.
#pragma once

#include <boost/asio/thread_pool.hpp>

#include "operate/http/server.h"
#include "operate/serve/route_table.h"
#include "operate/serve/tensors.h"

namespace hone {

struct InferenceOptions {
  HttpOptions http;
  std::vector<std::string> keys;     // requests must send one of them; none: no key is needed
  std::vector<std::string> origins;  // of web pages that may send requests (CORS); "*": all
  int threads = 2;                   // that read requests
};

// Another way for requests to come, such as gRPC.
class ServerDoor {
 public:
  virtual ~ServerDoor() = default;
  virtual int port() const = 0;
  // No new calls; those that run have this time.
  virtual void stop(double seconds) = 0;
};

class InferenceServer {
 public:
  // The context must outlive it. Errors of HttpServer::start.
  static Result<std::unique_ptr<InferenceServer>> start(const InferenceOptions& options,
                                                        const std::vector<Api>& apis,
                                                        ServeContext& context);
  ~InferenceServer();
  // The one end of a server, after a start that failed too. First no load may bring another model. Then each model ends
  // the step that runs, however long it takes, and gives up its jobs: a job holds its reply, which uses the server. Then
  // the doors and connections go, which may hold models, and last the models. Takes and answers nothing after that.
  void stop();

  int port() const { return http_->port(); }
  std::string url() const { return http_->url(); }
  void add_door(std::unique_ptr<ServerDoor> door) { doors_.push_back(std::move(door)); }
  // A request that came another way.
  void take(WebRequest request, const std::shared_ptr<WebReply>& reply);

  // The answer to a request of tensors that did not come by HTTP.
  struct Inferred {
    int status = 500;       // of HTTP
    std::string error;      // in one line, unless the status is 200
    TensorAnswer answer{};  // its outputs are packed
  };
  // As a request to the v2 protocol's infer with these headers, refused with the status of H3415, H3416 or what the
  // model says. `done` is called once, on any thread, unless the server ends before.
  void infer(WebHeaders headers, TensorRequest request, std::shared_ptr<WebClient> client,
             std::function<void(Inferred)> done);

  // Not ready from now on. During the delay new requests are still answered, until those that look at readiness send
  // them elsewhere. Then nothing listens, and requests that came are answered, over HTTP and at all doors at once.
  // False: not all in `seconds`. Those that are left then get H3412.
  bool drain(double delay_seconds, double seconds);

 private:
  class Counted;
  class CountedReply;
  InferenceServer(const InferenceOptions& options, const std::vector<Api>& apis,
                  ServeContext& context);
  std::optional<WebAnswer> refusal(const WebRequest& head);
  static void answer(const Route& route, RouteCall& call);
  Status ask(TensorRequest& request, WebClient& client, std::function<void(Inferred)> done);
  bool allowed(const WebHeaders& headers) const;
  WebHeaders cors_of(const WebRequest& request) const;
  void read_loads();

  InferenceOptions options_;
  RouteTable routes_;
  ServeContext& context_;
  LiveMetric& open_;
  std::unique_ptr<HttpServer> http_;  // outlives the replies that the pool holds
  boost::asio::thread_pool pool_;
  std::vector<std::unique_ptr<ServerDoor>> doors_;
};

}  // namespace hone
