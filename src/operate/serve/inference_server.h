// The web server of hone serve: checks access keys, sends requests to their routes, counts them,
// and shuts down in a safe order.
#pragma once

#include <boost/asio/thread_pool.hpp>

#include "operate/http/server.h"
#include "operate/serve/request_record.h"
#include "operate/serve/route_table.h"
#include "operate/serve/tensors.h"

namespace hone {

struct InferenceOptions {
  HttpOptions http;
  // Access keys: a request must send one; empty: no key is needed.
  std::vector<std::string> keys;
  std::vector<std::string> origins;  // origins of web pages that may send requests (CORS); "*": all
  int threads = 2;                   // threads that run the handlers of routes
};

// A second server beside the web server, for requests of another protocol, such as gRPC. It passes them to the
// InferenceServer.
class ServerDoor {
 public:
  virtual ~ServerDoor() = default;
  virtual int port() const = 0;
  // Refuses new calls, and gives the running calls at most `seconds` to finish.
  virtual void stop(double seconds) = 0;
};

class InferenceServer {
 public:
  // Starts to listen. `context` must outlive the server. Errors: those of HttpServer::start.
  static Result<std::unique_ptr<InferenceServer>> start(const InferenceOptions& options,
                                                        const std::vector<Api>& apis,
                                                        ServeContext& context);
  ~InferenceServer();
  // Shuts the server down; the destructor calls stop() too. First the loader (ServeContext::loads) cancels its load and
  // stops, so no further model is added. Then each model finishes its running step, however long the step takes, and
  // ends its jobs with H3412; jobs must end first because they hold replies that use the server. Then the doors and the
  // connections, which may hold models, are destroyed. The models are destroyed last.
  void stop();

  int port() const { return http_->port(); }
  std::string url() const { return http_->url(); }
  // The server owns the door. drain() stops the door, and stop() destroys it.
  void add_door(std::unique_ptr<ServerDoor> door) { doors_.push_back(std::move(door)); }
  // Handles a request that came over HTTP, or a request of the same form from a door. Returns at once; the answer goes
  // to `reply`, now or later.
  void take(WebRequest request, const std::shared_ptr<WebReply>& reply);

  // The result of infer().
  struct Inferred {
    int status = 500;       // HTTP status; 200: `answer` is valid
    std::string error;      // one line, unless the status is 200
    TensorAnswer answer{};  // its outputs have their values in InferTensor::bytes
  };
  // Handles an infer request of the v2 protocol that did not come over HTTP; `head` has its headers and its client. If
  // the request fails, Inferred::status is 401 for a missing or wrong key, else the HTTP status of the error (H3415,
  // H3416 or an error of the model). `done` is called at most once, on any thread. If the client leaves or the server
  // ends, `done` may never be called.
  void infer(WebRequest head, TensorRequest request, std::shared_ptr<WebClient> client,
             std::function<void(Inferred)> done);

  // Ends the service without breaking requests. Reports "not ready" from now on. New requests are still answered for
  // `delay_seconds`, so that load balancers have time to choose another server. Then the server accepts no connection,
  // and the open requests have at most `seconds` to finish, over HTTP and at all doors at the same time. Returns false
  // if some HTTP requests did not finish; they end with H3412.
  bool drain(double delay_seconds, double seconds);

 private:
  InferenceServer(const InferenceOptions& options, const std::vector<Api>& apis,
                  ServeContext& context);
  std::optional<WebAnswer> refusal(const WebRequest& head);
  void record_refusal(const WebRequest& head, WebAnswer& answer);
  ErrorShape shape_of(const WebRequest& request) const;
  std::unique_ptr<RequestRecord> record_of(const WebRequest& request);
  void answer_preflight(const WebRequest& request, RecordedReply& reply) const;
  void answer(const Route& route, RouteCall& call, const std::string& id) const;
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
