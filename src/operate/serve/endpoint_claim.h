// One server for an endpoint of the registry: the registry records the process that answers for it.
//
//   auto claim = HONE_TRY(EndpointClaim::prepare(options));
//   if (claim->replaces()) {                                     // another server answers
//     ... do all that may fail ...
//     HONE_TRY(claim->end_other());
//   }
//   ... listen ...                                               // no other server from here on
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
// Checks the server of an endpoint: its process if that is on this machine, else its address. If
// another program, or the server of another endpoint, answers at the address, the endpoint has no
// server.
ServerFacts look_at_server(const Endpoint& endpoint);

// "'t5' is unchanged: http://127.0.0.1:8080, process 4711, still answers"; for an error.
std::string still_answers(const Endpoint& endpoint, const ServerFacts& facts);

// Ends the server with SIGTERM, and with SIGKILL after `seconds`; also each server that takes the
// endpoint meanwhile. A server on another machine ends when it sees that the registry no longer
// names it. Returns the endpoint, without a server, when none answers. A server that hone deploy is
// starting can then not take the endpoint, unless `keeps_awaited`. H3418: a server still answers.
Result<Endpoint> end_server(Registry& registry, Endpoint endpoint, double seconds,
                            bool keeps_awaited = false);

struct ClaimOptions {
  std::string registry, endpoint;
  std::string awaited;            // EndpointServer::awaited, if hone deploy started this server
  bool take_over = false;         // replaces another server instead of H3418
  double take_over_seconds = 60;  // time for the other server to end
  // Settings of hone serve to keep with the endpoint; take() adds the port that was chosen.
  OrderedJson serving = OrderedJson::object();
  double watch_seconds = 2;  // between two reads of the registry
};

class EndpointClaim {
 public:
  // H3418 another server answers for the endpoint; errors of the registry.
  static Result<std::unique_ptr<EndpointClaim>> prepare(ClaimOptions options);
  ~EndpointClaim();  // gives the claim up
  // Whether another server answers, which end_other() ends.
  bool replaces() const { return other_.alive; }
  // Whether it listens at this port, and nobody else: the port is free as soon as it has ended.
  bool other_has(int port) const;
  // The error of a server that failed before end_other(), with the server that still answers.
  Error unchanged(Error error) const;
  // H3418: it cannot be ended; or the endpoint was stopped or deployed again since prepare().
  Status end_other();
  // Records this process, its address and settings. H3418: another server was faster, or it is no longer awaited.
  Status take(const std::string& url, int port,
              std::function<void(const std::string& why)> on_lost);
  void release();

 private:
  explicit EndpointClaim(ClaimOptions options) : options_(std::move(options)) {}
  void watch();
  std::string why_lost();  // "" : the endpoint is still this server's

  ClaimOptions options_;
  std::optional<Registry> registry_;
  Endpoint seen_;
  ServerFacts other_;
  EndpointServer own_;
  std::function<void(const std::string& why)> on_lost_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false, taken_ = false;
  std::thread watcher_;
};

}  // namespace hone
