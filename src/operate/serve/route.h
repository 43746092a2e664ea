// A route of the server: each file of operate/serve/routes is one API.
#pragma once

#include <map>
#include <span>

#include "operate/http/request.h"
#include "operate/serve/loader.h"
#include "operate/serve/model_set.h"
#include "operate/telemetry/metrics.h"

namespace hone {

// A model, or another version of one, to load and serve.
struct LoadRequest {
  std::string name, version = "";  // "": the newest
  // Traffic in percent. Unset: 100, unless no version is named and the newest is already served;
  // then traffic is unchanged.
  std::optional<int64_t> traffic = {};
  std::string deployed_id = "";
};

// State that routes share.
struct ServeContext {
  Metrics metrics;
  ModelSet models;
  Clock* clock = &system_clock();  // of deadlines and of the time of requests; that of the models
  std::atomic<bool> ready{false};  // false: no model yet, or it drains
  double request_seconds = 0;      // 0: no limit
  std::string endpoint;            // its numeric id
  std::string version;             // of hone
  std::string predict_route,
      health_route;  // paths of a custom container; set before the server starts
  // Loads a folder of the model repository, or forgets it; empty where there is none. `load` is called on the
  // thread of `loads`.
  std::function<Status(const LoadRequest&)> load;
  std::function<Status(const std::string&)> unload;  // by name
  std::function<std::vector<std::string>()> repository;
  std::function<void()> before_metrics;  // updates `metrics`
  Loader loads;                          // destroyed before everything that a load uses

  Deadline deadline() const;
};

using PathNames =
    std::map<std::string, std::string>;  // parts of a path by their names in a pattern

// A request whose route is known.
struct RouteCall {
  WebRequest request;
  PathNames names;
  std::shared_ptr<WebReply> reply;
  ServeContext& server;

  // "" where the pattern has no such name.
  std::string part(const std::string& name) const;
};

struct Route {
  std::string method;  // "GET", which includes HEAD; "POST"; "*": any
  // "v1/models/{model}[/versions/{version}]:predict": a name takes what is left of one part of the path, and what is in
  // brackets may be absent. A slash at its beginning changes nothing. route_table.h matches it.
  std::string pattern;
  void (*handle)(RouteCall& call) = nullptr;  // answers, now or later
  bool only = false;                          // other methods get status 405
  bool at_once = false;                       // waits for nothing: answered on the server's thread
};

struct Api {
  std::string name;  // label of metrics: "v2"
  std::vector<Route> (*routes)(const ServeContext& server) = nullptr;
  bool open = false;  // needs no key
};

// --- helpers of routes --------------------------------------------------------------------------

// The HTTP status of an Error; adds Retry-After if a retry can help.
int status_of(const Error& e);
WebHeaders headers_of(const Error& e);
// The error in the names that a request has: where `given` has a key `theirs` and not `ours`, `ours`
// becomes `theirs`.
struct KeyName {
  const char *theirs, *ours;
};
Error with_names_of(const Error& e, const Json& given, std::span<const KeyName> names);
// One line: what, where, what to do, without what only the one who runs the server can use: flags
// and paths of files.
std::string line_of(const Error& e);

// Asks the model all queries at once. `done` is called once with all answers in order, or the first
// Error, which ends the others. Ends them too when the client leaves.
void ask_all(WebClient& client, const ModelSet::Model& model, std::vector<TextQuery> queries,
             std::function<void(Result<std::vector<TextAnswer>>)> done);
// One query whose pieces come as they are written.
void ask_pieces(WebClient& client, const ModelSet::Model& model, TextQuery query,
                ServedModel::OnPiece on_piece, ServedModel::OnDone done);

}  // namespace hone
