#include "operate/serve/inference_server.h"

#include <boost/asio/post.hpp>
#include <thread>

#include "base/core/log.h"
#include "base/core/secret.h"
#include "base/core/text.h"
#include "operate/serve/protocol/errors.h"
#include "operate/serve/protocol/tensor_request.h"

namespace hone {
namespace {

constexpr const char* kNoKey = "this server asks for a key";
constexpr const char* kBug = "this is a bug in hone; its log says more";
constexpr const char* kPreflight = "cors";  // label of metrics

WebFault no_key() { return {401, kNoKey, "", {{"WWW-Authenticate", "Bearer"}}}; }

bool asks_for_leave(const WebRequest& r) {
  return r.method == "OPTIONS" && !r.header("access-control-request-method").empty();
}

// A body in a form that no route reads.
std::optional<WebFault> unread_form(const WebRequest& r) {
  const std::string coding = to_lower(r.header("content-encoding"));
  if (!coding.empty() && coding != "identity")
    return WebFault{415,
                    fmt::format("Content-Encoding {} is not read; send the body as it is", coding),
                    "",
                    {{"Accept-Encoding", "identity"}}};
  const std::string type = to_lower(r.header("content-type"));
  if (type.starts_with("multipart/"))
    return WebFault{415, fmt::format("Content-Type {} is not read; send application/json",
                                     type.substr(0, type.find(';')))};
  return {};
}

int64_t bytes_of_tensors(const std::vector<InferTensor>& tensors) {
  size_t bytes = 0;
  for (const InferTensor& t : tensors) {
    bytes += t.bytes.size() + t.floats.size() * sizeof(float);
    for (const std::string& text : t.texts) bytes += text.size();
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace

InferenceServer::InferenceServer(const InferenceOptions& options, const std::vector<Api>& apis,
                                 ServeContext& context)
    : options_(options),
      routes_(apis, context),
      context_(context),
      open_(context.metrics.gauge("hone_serve_open_requests", "Requests that are being answered.")),
      pool_(static_cast<size_t>(options.threads)) {
  context_.before_metrics = [this] { read_loads(); };
}

Result<std::unique_ptr<InferenceServer>> InferenceServer::start(const InferenceOptions& options,
                                                                const std::vector<Api>& apis,
                                                                ServeContext& context) {
  std::unique_ptr<InferenceServer> s(new InferenceServer(options, apis, context));
  WebHooks hooks;
  hooks.admission = [server = s.get()](const WebRequest& head) { return server->refusal(head); };
  hooks.refusal = [server = s.get()](const WebRequest& head, WebAnswer& a) {
    server->record_refusal(head, a);
  };
  s->http_ = HONE_TRY(HttpServer::start(
      options.http,
      [server = s.get()](WebRequest r, const std::shared_ptr<WebReply>& reply) {
        server->take(std::move(r), reply);
      },
      std::move(hooks)));
  return s;
}

InferenceServer::~InferenceServer() { stop(); }

void InferenceServer::stop() {
  context_.ready = false;
  context_.ends = true;
  context_.loads.stop();
  // Replaced models too, which finish their running requests. Later requests of the pool are refused at once.
  for (const ModelSet::Model& model : context_.models.living()) model->join();
  doors_.clear();
  if (http_) http_->stop();
  pool_.join();
  http_.reset();
  for (const std::string& name : context_.models.names()) (void)context_.models.remove(name);
  wait_for_unloads();
}

bool InferenceServer::drain(double delay_seconds, double seconds) {
  context_.ready = false;
  context_.ends = true;
  context_.clock->sleep(delay_seconds);
  // The last part of the time is for telling those that still wait.
  const double last = std::min(2.0, seconds / 10), first = seconds - last;
  std::vector<std::thread> stopping;
  for (const auto& door : doors_) stopping.emplace_back([&door, first] { door->stop(first); });
  const bool all = http_->drain(first);
  if (!all) {
    log_warning("some requests were not done after {:.4g} s", first);
    for (const ModelSet::Model& model : context_.models.living()) model->stop();
    (void)http_->drain(last);
  }
  for (std::thread& t : stopping) t.join();
  return all;
}

WebHeaders InferenceServer::cors_of(const WebRequest& request) const {
  const std::string origin(request.header("origin"));
  if (origin.empty()) return {};
  for (const std::string& o : options_.origins)
    if (o == "*" || o == origin)
      return {{"Access-Control-Allow-Origin", o},
              {"Access-Control-Expose-Headers", "X-Request-Id"},
              {"Vary", "Origin"}};
  return {};
}

bool InferenceServer::allowed(const WebHeaders& headers) const {
  if (options_.keys.empty()) return true;
  std::string_view key = header_of(headers, "x-api-key");
  if (const std::string_view bearer = header_of(headers, "authorization");
      bearer.size() > 7 && to_lower(bearer.substr(0, 7)) == "bearer ")
    key = bearer.substr(7);
  bool found = false;
  for (const std::string& k : options_.keys) found |= equal_secrets(k, key);
  return found;
}

ErrorShape InferenceServer::shape_of(const WebRequest& request) const {
  return request.path == context_.predict_route ? ErrorShape::plain : error_shape_of(request.path);
}

std::unique_ptr<RequestRecord> InferenceServer::record_of(const WebRequest& request) {
  return std::make_unique<RequestRecord>(context_, open_, request);
}

// A request without a key is refused before its body is read.
std::optional<WebAnswer> InferenceServer::refusal(const WebRequest& head) {
  if (allowed(head.headers) || head.method == "OPTIONS") return std::nullopt;
  const std::optional<std::vector<std::string>> path = path_parts(head.path);
  if (path && routes_.find(head.method, *path, true)) return std::nullopt;
  WebAnswer a = shaped_error(ErrorShape::plain, no_key());
  const WebHeaders cors = cors_of(head);
  a.headers.insert(a.headers.end(), cors.begin(), cors.end());
  return a;
}

// An answer of the web server itself, which knows no shapes.
void InferenceServer::record_refusal(const WebRequest& head, WebAnswer& a) {
  const std::unique_ptr<RequestRecord> record = record_of(head);
  const auto body = parse_ordered_json(a.body, "the answer");
  const std::string what = body.ok() ? text_at(*body, "error") : "";
  a = shaped_error(shape_of(head), {a.status, what, "", std::move(a.headers)});
  record->answer(a);
}

void InferenceServer::answer_preflight(const WebRequest& request, RecordedReply& reply) const {
  reply.record().of(kPreflight);
  if (cors_of(request).empty()) return reply.refuse({403, "this origin may not ask"});
  reply.send(
      {204,
       "",
       "",
       {{"Access-Control-Allow-Methods", "GET, POST"},
        {"Access-Control-Allow-Headers", "authorization, content-type, x-api-key, x-request-id"},
        {"Access-Control-Max-Age", "600"}}});
}

// Runs on the server's thread: fast checks only.
void InferenceServer::take(WebRequest request, const std::shared_ptr<WebReply>& inner) {
  const auto reply = std::make_shared<RecordedReply>(inner, cors_of(request), shape_of(request),
                                                     record_of(request));
  if (asks_for_leave(request)) return answer_preflight(request, *reply);
  const std::optional<std::vector<std::string>> path = path_parts(request.path);
  if (!path)
    return reply->refuse({400,
                          "the path is not one: it has an empty part, a part of dots, a slash "
                          "or a control character in a part"});
  const bool may = allowed(request.headers);
  const auto match = routes_.find(request.method, *path, !may);
  if (!match && !may) return reply->refuse(no_key());
  if (!match)
    return reply->refuse(
        {404,
         fmt::format("there is nothing at {}; /v1/models lists what is served", request.path)});
  reply->record().of(*match->api);
  if (!match->allowed.empty())
    return reply->refuse(
        {405,
         fmt::format("this path takes no {}: send it with {}", request.method, match->allowed),
         "",
         {{"Allow", match->allowed}}});
  if (const auto unread = unread_form(request)) return reply->refuse(*unread);
  RouteCall call{std::move(request), match->names, reply, context_};
  const std::string id = reply->record().id();
  if (match->route->thread == RouteThread::server) return answer(*match->route, call, id);
  boost::asio::post(pool_, [this, route = match->route, id, call = std::move(call)]() mutable {
    answer(*route, call, id);
  });
}

void InferenceServer::answer(const Route& route, RouteCall& call, const std::string& id) const {
  const ErrorShape shape = shape_of(call.request);
  try {
    route.handle(call);
  } catch (const std::bad_alloc&) {
    call.reply->send(shaped_error(shape, no_memory()));
  } catch (const std::exception& e) {
    log_warning("the request {} for {} ended in a bug of hone: {}", id, call.request.path,
                e.what());
    call.reply->send(shaped_error(shape, {500, kBug}));
  }
}

void InferenceServer::infer(WebRequest head, TensorRequest request,
                            std::shared_ptr<WebClient> client, std::function<void(Inferred)> done) {
  head.path = "/v2/models/" + request.model +
              (request.version.empty() ? "" : "/versions/" + request.version) + "/infer";
  const auto recorded = std::make_shared<RecordedClient>(std::move(client), record_of(head));
  recorded->record().read(bytes_of_tensors(request.inputs));
  const auto finish = [recorded, done = std::move(done)](Inferred i) {
    RequestRecord& record = recorded->record();
    record.status(recorded->gone() ? kClientLeft : i.status);
    record.wrote(static_cast<size_t>(bytes_of_tensors(i.answer.outputs)));
    record.finish();
    done(std::move(i));
  };
  boost::asio::post(pool_, [this, recorded, finish, h = std::move(head.headers),
                            r = std::move(request)]() mutable {
    if (!allowed(h)) return finish({401, kNoKey});
    recorded->record().of(kTensorApi);
    try {
      if (const Status s = ask(r, *recorded, finish); !s.ok())
        finish({status_of(s.error()), line_of(s.error())});
    } catch (const std::bad_alloc&) {
      finish({503, line_of(no_memory())});
    } catch (const std::exception& e) {
      log_warning("the request {} for {} ended in a bug of hone: {}", recorded->record().id(),
                  r.model, e.what());
      finish({500, kBug});
    }
  });
}

Status InferenceServer::ask(TensorRequest& request, WebClient& client,
                            std::function<void(Inferred)> done) {
  if (request.model.empty()) return Error(err::kServeRequest, "the request names no model");
  const ModelSet::Model model = HONE_TRY(context_.models.find(request.model, request.version));
  if (!request.unread.empty())
    return Error(err::kServeRequest, fmt::format("inputs and outputs have no parameter '{}' here",
                                                 request.unread.front()));
  for (InferTensor& t : request.inputs) HONE_TRY(read_tensor(t));
  hone::infer(model, request, context_.deadline(), client,
              [done = std::move(done)](Result<TensorAnswer> answer) {
                if (!answer.ok()) return done({status_of(answer.error()), line_of(answer.error())});
                for (InferTensor& t : answer->outputs) t.bytes = bytes_of(t);
                done({200, "", std::move(*answer)});
              });
  return Ok{};
}

// The metrics of the models as they are now.
void InferenceServer::read_loads() {
  Metrics& m = context_.metrics;
  if (context_.access)
    m.counter("hone_serve_access_lines_lost_total",
              "Lines of the access log that had no place among those that wait.")
        .set(static_cast<double>(context_.access->lost()));
  for (const ModelSet::Model& model : context_.models.all()) {
    const EngineLoad l = model->load();
    const MetricLabels labels{{"model", model->name()}, {"version", model->version()}};
    const auto gauge = [&](const char* name, const char* help, auto value) {
      m.gauge(name, help, labels).set(static_cast<double>(value));
    };
    gauge("hone_serve_waiting_requests", "Requests that wait for a place.", l.waiting);
    gauge("hone_serve_running_requests", "Requests that the model works on.", l.running);
    gauge("hone_serve_used_rows_ratio", "Share of the sequences that can be decoded together.",
          l.rows > 0 ? static_cast<double>(l.used_rows) / static_cast<double>(l.rows) : 0);
    gauge("hone_serve_used_cache_ratio", "Share of the KV cache that requests hold.",
          l.pages > 0 ? static_cast<double>(l.used_pages) / static_cast<double>(l.pages) : 0);
    const auto counter = [&](const char* name, const char* help, auto value) {
      m.counter(name, help, labels).set(static_cast<double>(value));
    };
    counter("hone_serve_prompt_tokens_total", "Tokens of prompts that were read.", l.prompt_tokens);
    counter("hone_serve_new_tokens_total", "Tokens that were written.", l.new_tokens);
    counter("hone_serve_compute_seconds_total", "Time that the model computed.", l.seconds);
  }
}

}  // namespace hone
