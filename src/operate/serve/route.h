// The routes of the inference server. Each .cc file of operate/serve/routes defines one API: its paths and methods, and
// the functions that answer them.
#pragma once

#include <map>
#include <span>

#include "operate/http/request.h"
#include "operate/serve/access_log.h"
#include "operate/serve/loader.h"
#include "operate/serve/model_set.h"
#include "operate/telemetry/metrics.h"

namespace hone {

// A request to load a model, or another version of a model, and to serve it.
struct LoadRequest {
  std::string name, version = "";  // version "": the newest
  // The share of the model's requests that the version gets, in percent. nullopt: 100, with one exception: if `version`
  // is "" and the newest version is already served, the shares do not change.
  std::optional<int64_t> traffic = {};
  std::string deployed_id = "";  // DeployedModel::id (operate/registry/registry.h); "": none
};

// The server's state, which all routes share.
struct ServeContext {
  Metrics metrics;
  std::unique_ptr<AccessLog> access;  // null: no access log
  ModelSet models;
  // The clock for deadlines and times of requests; the models must use the same clock.
  Clock* clock = &system_clock();
  std::atomic<bool> ready{false};  // false: models are still being loaded, or the server drains
  // true: the server drains or stops, and loads of models are cancelled.
  std::atomic<bool> ends{false};
  double request_seconds = 0;  // time limit of a request; 0: none
  std::string endpoint;        // numeric id of the endpoint that the server answers for
  std::string version;         // version of hone
  // Further paths for predictions and health checks, as Vertex AI's custom containers use them; "": none. Set before
  // the server starts.
  std::string predict_route, health_route;
  // Loads a model and serves it; called on the thread of `loads`. Null: the server loads no further models.
  std::function<Status(const LoadRequest&)> load;
  // Unloads all versions of the model with this name. Null: the server has no model repository.
  std::function<Status(const std::string&)> unload;
  // The names of the models in the model repository. Null: the server has no model repository.
  std::function<std::vector<std::string>()> repository;
  std::function<void()> before_metrics;  // updates `metrics` before they are read; null: not needed
  Loader loads;                          // last member, because loads use the others

  // The deadline of a request that arrives now: request_seconds from now.
  Deadline deadline() const;
};

// Name in a route's pattern -> the part of the path that the name matches, decoded.
using PathNames = std::map<std::string, std::string>;

// A request whose route is known.
struct RouteCall {
  WebRequest request;
  PathNames names;
  std::shared_ptr<WebReply> reply;
  ServeContext& server;

  // The part of the path with this name; "" if the pattern has no such name.
  std::string part(const std::string& name) const;
};

// The thread that calls a route's function.
enum class RouteThread {
  pool,    // a thread of the pool: the function may wait and compute
  server,  // the web server's only thread: the function must return at once
};

struct Route {
  std::string method;  // "GET" (which includes HEAD), "POST" or another method; "*": every method
  // "v1/models/{model}[/versions/{version}]:predict": a name in braces matches any text within one part
  // of the path; text in brackets is optional. A slash at the beginning is ignored. route_table.h
  // matches patterns.
  std::string pattern;
  void (*handle)(RouteCall& call) = nullptr;  // answers through call.reply, now or later
  RouteThread thread = RouteThread::pool;
};

struct Api {
  std::string name;  // value of the metrics' label `route`: "v2"
  std::vector<Route> (*routes)(const ServeContext& server) = nullptr;
  bool open = false;  // true: requests need no access key
};

// --- helpers of routes --------------------------------------------------------------------------

// The HTTP status for an Error.
int status_of(const Error& e);
// The headers for an Error: Retry-After with status 429 or 503.
WebHeaders headers_of(const Error& e);
// A setting's key in an API (`theirs`) and in generation_config.json (`ours`).
struct KeyName {
  const char *theirs, *ours;
};
// The error with the names of keys that the request `given` uses: if `given` has the key `theirs` but not `ours`, each
// `ours` in the message is replaced by `theirs`.
Error with_names_of(const Error& e, const Json& given, std::span<const KeyName> names);
// One line for the client: what happened, where, and what to do. Flags and paths of files are left out: only the
// operator of the server can use them.
std::string line_of(const Error& e);

// Passes all queries to the model at once. `done` is called at most once: with all answers in the order of the queries,
// or with the first Error, which cancels the other queries. When the client leaves, all queries are cancelled; then
// `done` is called only if the model finishes them although they are cancelled (see Engine::cancel()). client.tell()
// gets the model's name and the numbers of tokens. The client must live until `done` was called: let `done` hold it.
void ask_all(WebClient& client, const ModelSet::Model& model, std::vector<TextQuery> queries,
             std::function<void(Result<std::vector<TextAnswer>>)> done);
// Like ask_all() with one query, but `on_piece` also gets each piece of the answer as soon as it is generated.
void ask_pieces(WebClient& client, const ModelSet::Model& model, TextQuery query,
                ServedModel::OnPiece on_piece, ServedModel::OnDone done);

}  // namespace hone
