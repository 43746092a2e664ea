// One server for an endpoint of the registry: the registry records the process that answers for it.
//
//   auto claim = HONE_TRY(EndpointClaim::prepare(options));      // no other server from here on
//   ... listen ...
//   HONE_TRY(claim->take(url, stop));                            // recorded; `stop` is called when it is lost
//   ... serve ...
//   claim->release();                                            // nobody answers
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "operate/registry/registry.h"

namespace hone {

struct ServerFacts {
  bool alive = false, ready = false;
  bool here = false;  // its process can be seen, and ended, from here
  int64_t pid = 0;
};
// The server of an endpoint: by its process if that is on this machine, else by its address. Another program, or a
// server of another endpoint, at that address counts as none.
ServerFacts look_at_server(const Endpoint& endpoint);

// Ends the server, and each that takes the endpoint meanwhile: SIGTERM, and SIGKILL after `seconds`. A server of another
// machine notices by itself that the registry no longer names it. Returns when none answers, with the endpoint without
// server. A server that hone deploy is starting may no longer take it, unless `keeps_awaited`. H3418: one still answers.
Result<Endpoint> end_server(Registry& registry, Endpoint endpoint, double seconds,
                            bool keeps_awaited = false);

struct ClaimOptions {
  std::string registry, endpoint;
  std::string awaited;            // EndpointServer::awaited, if hone deploy started this server
  bool take_over = false;         // ends another server instead of H3418
  double take_over_seconds = 60;  // that it may take to end
  // Settings of hone serve to keep with the endpoint; take() adds the port that was chosen.
  OrderedJson serving = OrderedJson::object();
  double watch_seconds = 2;  // between two looks into the registry
};

class EndpointClaim {
 public:
  // H3418 another server answers for the endpoint; errors of the registry.
  static Result<std::unique_ptr<EndpointClaim>> prepare(ClaimOptions options);
  ~EndpointClaim();  // gives up what was taken
  // Records this process, its address and settings. H3418: another server was faster, or it is no longer awaited.
  Status take(const std::string& url, int port,
              std::function<void(const std::string& why)> on_lost);
  void release();

 private:
  explicit EndpointClaim(ClaimOptions options) : options_(std::move(options)) {}
  void watch();

  ClaimOptions options_;
  std::optional<Registry> registry_;
  Endpoint seen_;
  EndpointServer own_;
  std::function<void(const std::string& why)> on_lost_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false, taken_ = false;
  std::thread watcher_;
};

}  // namespace hone
