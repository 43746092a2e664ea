// Ensures that an endpoint of the registry has at most one server at a time. The registry records the process that
// answers for the endpoint.
//
//   auto claim = HONE_TRY(EndpointClaim::prepare(options));
//   if (claim->replaces()) {                                     // another server answers
//     ... do all that may fail ...
//     HONE_TRY(claim->end_other());
//   }
//   ... listen ...                                               // no other server from here on
//   HONE_TRY(claim->take(url, port, stop));                      // recorded; calls stop() if the endpoint is lost
//   ... serve ...
//   claim->release();                                            // the endpoint has no server
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "operate/registry/registry.h"

namespace hone {

struct ServerFacts {
  bool alive = false, ready = false;  // the endpoint has a server; the server is ready for requests
  // The server's process is on this machine, in this container: a signal can end it.
  bool here = false;
  int64_t pid = 0;  // the server's process; 0: unknown
};
// Checks whether the endpoint has a server: if the recorded process is of this machine, by the process, else by
// requests to the endpoint's address. An answer from another program, or from the server of another endpoint, does not
// count.
ServerFacts look_at_server(const Endpoint& endpoint);

// A line for an error: "'t5' is unchanged: http://127.0.0.1:8080, process 4711, still answers".
std::string still_answers(const Endpoint& endpoint, const ServerFacts& facts);

// Ends the server of the endpoint, and each server that takes the endpoint during the call. A server on this machine
// gets SIGTERM, and SIGKILL after `seconds`. A server on another machine ends by itself when it sees that the registry
// no longer names it. When no server answers, returns the stored endpoint, which then has no server. If `keeps_awaited`
// is false, a server that hone deploy is starting now (EndpointServer::awaited) can no longer take the endpoint. Error
// H3418: the server cannot be ended, or a server on another machine still answers after `seconds`.
Result<Endpoint> end_server(Registry& registry, Endpoint endpoint, double seconds,
                            bool keeps_awaited = false);

struct ClaimOptions {
  std::string registry, endpoint;  // address of the registry; id or display name of the endpoint
  // The id that hone deploy gave to this server (EndpointServer::awaited); "": hone deploy did not start this server.
  std::string awaited;
  bool take_over = false;         // replace another server instead of failing with H3418
  double take_over_seconds = 60;  // end_other() waits this long for the other server to end
  // Settings of hone serve to keep with the endpoint; take() adds the port that was chosen.
  OrderedJson serving = OrderedJson::object();
  double watch_seconds = 2;  // seconds between two checks whether the endpoint is lost
};

class EndpointClaim {
 public:
  // Reads the endpoint, and changes nothing. Errors: H3418 another server answers for the endpoint, and `take_over` is
  // false; those of the registry.
  static Result<std::unique_ptr<EndpointClaim>> prepare(ClaimOptions options);
  ~EndpointClaim();  // calls release()
  // Whether another server answers for the endpoint. If so, call end_other() before take().
  bool replaces() const { return other_.alive; }
  // Whether the other server is the only process that listens at this port, so that its end frees the port.
  bool other_has(int port) const;
  // Returns `error` with still_answers() as a further place. Use it for errors at this server's start, before
  // end_other().
  Error unchanged(Error error) const;
  // Ends the other server. Error H3418: it cannot be ended, or the endpoint was stopped or deployed again since
  // prepare().
  Status end_other();
  // Records this process as the server of the endpoint, with its address and settings. From then on a thread checks the
  // registry. If the endpoint no longer belongs to this server, the thread calls `on_lost` once, with the reason, and
  // ends. Error H3418: another server has taken the endpoint first, or hone deploy no longer waits for this server.
  Status take(const std::string& url, int port,
              std::function<void(const std::string& why)> on_lost);
  // Stops the checks and removes this server from the registry. Does nothing before take(). Must not be called in
  // `on_lost`, because it waits for the thread that calls `on_lost`.
  void release();

 private:
  explicit EndpointClaim(ClaimOptions options) : options_(std::move(options)) {}
  void watch();
  std::string why_lost();  // "" : the endpoint still belongs to this server

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
