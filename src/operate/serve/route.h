// A route of the server: each file of operate/serve/routes is one API.
#pragma once

#include <map>
#include <span>

#include "operate/http/request.h"
#include "operate/serve/access_log.h"
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
  std::unique_ptr<AccessLog> access;  // null: none
  ModelSet models;
  Clock* clock = &system_clock();  // of deadlines and of the time of requests; that of the models
  std::atomic<bool> ready{false};  // false: no model yet, or it drains
  std::atomic<bool> ends{false};   // it drains or stops: loads of models are given up
  double request_seconds = 0;      // 0: no limit
  std::string endpoint;            // its numeric id
  std::string version;             // of hone
  std::string predict_route,
      health_route;  // paths of a custom container; set before the server starts
  // Loads or unloads a model of the model repository; unset if the server has no repository. `load`
  // is called on the thread of `loads`.
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

  // The part of the path with this name; "" if the pattern has no such name.
  std::string part(const std::string& name) const;
};

// The thread that answers a request.
enum class RouteThread {
  pool,    // it may wait and compute
  server,  // it waits for nothing
};

struct Route {
  std::string method;  // "GET", which includes HEAD; "POST"; "*": any
  // "v1/models/{model}[/versions/{version}]:predict": a name in braces matches the rest of one part
  // of the path; text in brackets is optional. A slash at the beginning is ignored. route_table.h
  // matches patterns.
  std::string pattern;
  void (*handle)(RouteCall& call) = nullptr;  // answers, now or later
  RouteThread thread = RouteThread::pool;
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
// The error with the names of keys that the request uses: if `given` has the key `theirs` and not
// `ours`, each `ours` in the message becomes `theirs`.
struct KeyName {
  const char *theirs, *ours;
};
Error with_names_of(const Error& e, const Json& given, std::span<const KeyName> names);
// One line for the client: what, where, what to do. Flags and paths of files are left out: only the
// operator of the server can use them.
std::string line_of(const Error& e);

// Gives all queries to the model at once. `done` is called once: with all answers in order, or with
// the first Error, which cancels the other queries. All are cancelled when the client leaves. The
// client gets the facts: model and tokens. It must live until `done` was called: let `done` hold it.
void ask_all(WebClient& client, const ModelSet::Model& model, std::vector<TextQuery> queries,
             std::function<void(Result<std::vector<TextAnswer>>)> done);
// Gives one query to the model; `on_piece` gets the pieces of its answer as they are generated.
void ask_pieces(WebClient& client, const ModelSet::Model& model, TextQuery query,
                ServedModel::OnPiece on_piece, ServedModel::OnDone done);

}  // namespace hone
