// A route of the server: each file of operate/serve/routes is one API.
#pragma once

#include "operate/http/request.h"
#include "operate/metrics/metrics.h"
#include "operate/serve/loader.h"
#include "operate/serve/model_set.h"

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
  std::atomic<bool> ready{false};           // false: no model yet, or the server drains
  double request_seconds = 0;               // 0: no limit
  std::string endpoint;                     // its numeric id
  std::string version;                      // of hone
  std::string predict_route, health_route;  // of a custom container
  // Loads a folder of the model repository, or removes it; empty if there is no repository. `load`
  // is called on the thread of `loads`.
  std::function<Status(const LoadRequest&)> load;
  std::function<Status(const std::string&)> unload;  // by name
  std::function<std::vector<std::string>()> repository;
  std::function<void()> before_metrics;  // updates `metrics`
  Loader loads;                          // destroyed before everything that a load uses

  Deadline deadline() const;
};

// A request and the parts of its path.
struct RouteCall {
  WebRequest request;
  std::vector<std::string> parts;  // of the path
  std::shared_ptr<WebReply> reply;
  ServeContext& server;

  bool get() const { return request.method == "GET" || request.method == "HEAD"; }
  bool post() const { return request.method == "POST"; }
};

struct Route {
  std::string name;  // label of metrics: "vertex"
  // False: the path belongs to another route. Otherwise it answers, now or later.
  bool (*handle)(RouteCall& call) = nullptr;
  bool open = false;  // needs no key
};

// --- helpers of routes --------------------------------------------------------------------------

// The HTTP status of an Error; adds Retry-After if a retry can help.
int status_of(const Error& e);
WebHeaders headers_of(const Error& e);
// One line: what, where, what to do.
std::string line_of(const Error& e);
// A body, or a part of one, as an object; H3415 with the place.
Result<Json> json_object(std::string_view text);

// Largest number of texts in one request.
inline constexpr size_t kMostTexts = 1024;
// H3415 if there are more than kMostTexts.
Status check_text_count(size_t texts);

// Sends all queries to the model at once. `done` is called once with all answers in order, or with
// the first Error; an Error cancels the others, and so does a client that leaves.
void ask_all(const RouteCall& call, const ModelSet::Model& model, std::vector<TextQuery> queries,
             std::function<void(Result<std::vector<TextAnswer>>)> done);
// Sends one query and streams its pieces.
void ask_pieces(const RouteCall& call, const ModelSet::Model& model, TextQuery query,
                ServedModel::OnPiece on_piece, ServedModel::OnDone done);

}  // namespace hone
