#include "operate/serve/inference_server.h"

#include <openssl/crypto.h>

#include <boost/asio/post.hpp>
#include <thread>

#include "base/core/log.h"
#include "base/core/text.h"
#include "operate/serve/protocol/errors.h"

namespace hone {
namespace {

constexpr int kClientLeft = 499;  // as nginx counts it
constexpr const char* kNoKey = "this server asks for a key";
constexpr const char* kBug = "this is a bug in hone; its log says more";

bool equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

WebAnswer no_key() {
  WebAnswer a = web_error(401, kNoKey);
  a.headers = {{"WWW-Authenticate", "Bearer"}};
  return a;
}

}  // namespace

// A request, counted with the status and the route that it has when it goes.
class InferenceServer::Counted {
 public:
  Counted(ServeContext& server, LiveMetric& open)
      : metrics_(server.metrics), open_(open), clock_(*server.clock), begun_(clock_.seconds()) {
    open_.add(1);
  }
  ~Counted() {
    open_.add(-1);
    metrics_
        .histogram("hone_serve_request_duration_seconds",
                   "Time from a request to the end of its answer.", latency_bounds(),
                   {{"route", route_}})
        .observe(clock_.seconds() - begun_);
    metrics_
        .counter("hone_serve_requests_total", "Requests that were answered.",
                 {{"route", route_}, {"code", std::to_string(status_.load())}})
        .add(1);
  }
  void of(const std::string& route) { route_ = route; }
  void status(int status) { status_ = status; }

 private:
  Metrics& metrics_;
  LiveMetric& open_;
  const Clock& clock_;
  const double begun_;
  std::string route_ = "none";
  std::atomic<int> status_{kClientLeft};  // until there is an answer
};

// A reply that is counted, and whose answers say who may read them.
class InferenceServer::CountedReply : public WebReply {
 public:
  CountedReply(std::shared_ptr<WebReply> inner, WebHeaders headers, ServeContext& server,
               LiveMetric& open)
      : inner_(std::move(inner)), headers_(std::move(headers)), counted_(server, open) {}
  void of(const std::string& route) { counted_.of(route); }

  void send(WebAnswer a) override {
    counted_.status(gone() ? kClientLeft : a.status);
    add_headers(a);
    inner_->send(std::move(a));
  }
  void begin(WebAnswer a) override {
    counted_.status(a.status);
    add_headers(a);
    inner_->begin(std::move(a));
  }
  void write(std::string piece) override { inner_->write(std::move(piece)); }
  void end() override {
    if (gone()) counted_.status(kClientLeft);
    inner_->end();
  }
  bool gone() const override { return inner_->gone(); }
  void on_gone(std::function<void()> f) override { inner_->on_gone(std::move(f)); }

 private:
  void add_headers(WebAnswer& a) {
    a.headers.insert(a.headers.end(), headers_.begin(), headers_.end());
  }

  std::shared_ptr<WebReply> inner_;
  WebHeaders headers_;
  Counted counted_;
};

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
  s->http_ = HONE_TRY(HttpServer::start(
      options.http,
      [server = s.get()](WebRequest r, const std::shared_ptr<WebReply>& reply) {
        server->take(std::move(r), reply);
      },
      [server = s.get()](const WebRequest& head) { return server->refusal(head); }));
  return s;
}

InferenceServer::~InferenceServer() { stop(); }

void InferenceServer::stop() {
  context_.ready = false;
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
    if (o == "*" || o == origin) return {{"Access-Control-Allow-Origin", o}, {"Vary", "Origin"}};
  return {};
}

bool InferenceServer::allowed(const WebHeaders& headers) const {
  if (options_.keys.empty()) return true;
  std::string_view key = header_of(headers, "x-api-key");
  if (const std::string_view bearer = header_of(headers, "authorization");
      bearer.size() > 7 && to_lower(bearer.substr(0, 7)) == "bearer ")
    key = bearer.substr(7);
  bool found = false;
  for (const std::string& k : options_.keys) found |= equal(k, key);
  return found;
}

// A request without a key is refused before its body is read.
std::optional<WebAnswer> InferenceServer::refusal(const WebRequest& head) {
  if (allowed(head.headers) || head.method == "OPTIONS") return std::nullopt;
  const std::optional<std::vector<std::string>> path = path_parts(head.path);
  if (path && routes_.find(head.method, *path, true)) return std::nullopt;
  Counted(context_, open_).status(401);
  WebAnswer a = no_key();
  const WebHeaders cors = cors_of(head);
  a.headers.insert(a.headers.end(), cors.begin(), cors.end());
  return a;
}

// Runs on the server's thread: fast checks only.
void InferenceServer::take(WebRequest request, const std::shared_ptr<WebReply>& reply) {
  WebHeaders cors = cors_of(request);
  if (request.method == "OPTIONS" && !request.header("access-control-request-method").empty()) {
    if (cors.empty()) return reply->send(web_error(403, "this origin may not ask"));
    cors.emplace_back("Access-Control-Allow-Methods", "GET, POST");
    cors.emplace_back("Access-Control-Allow-Headers", "authorization, content-type, x-api-key");
    cors.emplace_back("Access-Control-Max-Age", "600");
    return reply->send({204, "", "", cors});
  }
  const auto counted = std::make_shared<CountedReply>(reply, std::move(cors), context_, open_);
  const std::optional<std::vector<std::string>> path = path_parts(request.path);
  if (!path) return counted->send(web_error(400, "the path is not one"));
  const bool may = allowed(request.headers);
  const auto match = routes_.find(request.method, *path, !may);
  if (!match && !may) return counted->send(no_key());
  if (!match) return counted->send(web_error(404, "there is nothing at " + request.path));
  counted->of(*match->api);
  if (match->other_method) {
    WebAnswer a = web_error(405, "only " + match->route->method);
    a.headers = {{"Allow", match->route->method}};
    return counted->send(std::move(a));
  }
  RouteCall call{std::move(request), match->names, counted, context_};
  if (match->route->at_once) return answer(*match->route, call);
  boost::asio::post(
      pool_, [route = match->route, call = std::move(call)]() mutable { answer(*route, call); });
}

void InferenceServer::answer(const Route& route, RouteCall& call) {
  try {
    route.handle(call);
  } catch (const std::bad_alloc&) {
    call.reply->send(web_error(503, line_of(no_memory())));
  } catch (const std::exception& e) {
    log_warning("a request for {} ended in a bug of hone: {}", call.request.path, e.what());
    call.reply->send(web_error(500, kBug));
  }
}

void InferenceServer::infer(WebHeaders headers, TensorRequest request,
                            std::shared_ptr<WebClient> client, std::function<void(Inferred)> done) {
  const auto counted = std::make_shared<Counted>(context_, open_);
  const auto finish = [counted, client, done = std::move(done)](Inferred i) {
    counted->status(client->gone() ? kClientLeft : i.status);
    done(std::move(i));
  };
  boost::asio::post(pool_, [this, counted, client, finish, h = std::move(headers),
                            r = std::move(request)]() mutable {
    if (!allowed(h)) return finish({401, kNoKey});
    counted->of(kTensorApi);
    try {
      if (const Status s = ask(r, *client, finish); !s.ok())
        finish({status_of(s.error()), line_of(s.error())});
    } catch (const std::bad_alloc&) {
      finish({503, line_of(no_memory())});
    } catch (const std::exception& e) {
      log_warning("a request for {} ended in a bug of hone: {}", r.model, e.what());
      finish({500, kBug});
    }
  });
}

Status InferenceServer::ask(TensorRequest& request, WebClient& client,
                            std::function<void(Inferred)> done) {
  if (request.model.empty()) return Error(err::kServeRequest, "the request names no model");
  const ModelSet::Model model = HONE_TRY(context_.models.find(request.model, request.version));
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
