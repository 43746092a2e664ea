#include "operate/serve/inference_server.h"

#include <openssl/crypto.h>

#include <boost/asio/post.hpp>

#include "base/core/log.h"

namespace hone {
namespace {

// A reply that counts its request once the status is known, and adds the CORS headers.
class CountedReply : public WebReply {
 public:
  CountedReply(std::shared_ptr<WebReply> inner, WebHeaders headers, Metrics& metrics,
               LiveMetric& open)
      : inner_(std::move(inner)), headers_(std::move(headers)), metrics_(metrics), open_(open) {
    open_.add(1);
  }
  ~CountedReply() override {
    open_.add(-1);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
    metrics_
        .histogram("hone_serve_request_duration_seconds",
                   "Time from a request to the end of its answer.", latency_bounds(),
                   {{"route", route_}})
        .observe(seconds);
    metrics_
        .counter("hone_serve_requests_total", "Requests that were answered.",
                 {{"route", route_}, {"code", std::to_string(status_.load())}})
        .add(1);
  }
  void of(const std::string& route) { route_ = route; }

  void send(WebAnswer a) override {
    status_ = gone() ? kClientLeft : a.status;
    add(a);
    inner_->send(std::move(a));
  }
  void begin(WebAnswer a) override {
    status_ = a.status;
    add(a);
    inner_->begin(std::move(a));
  }
  void write(std::string piece) override { inner_->write(std::move(piece)); }
  void end() override {
    if (gone()) status_ = kClientLeft;
    inner_->end();
  }
  bool gone() const override { return inner_->gone(); }
  void on_gone(std::function<void()> f) override { inner_->on_gone(std::move(f)); }

 private:
  void add(WebAnswer& a) { a.headers.insert(a.headers.end(), headers_.begin(), headers_.end()); }

  std::shared_ptr<WebReply> inner_;
  WebHeaders headers_;
  Metrics& metrics_;
  LiveMetric& open_;
  std::string route_ = "none";
  static constexpr int kClientLeft = 499;  // as nginx counts it
  std::atomic<int> status_{kClientLeft};   // until there is an answer
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

bool equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

InferenceServer::InferenceServer(const InferenceOptions& options, std::vector<Route> routes,
                                 ServeContext& context)
    : options_(options),
      routes_(std::move(routes)),
      context_(context),
      open_(context.metrics.gauge("hone_serve_open_requests", "Requests that are being answered.")),
      pool_(static_cast<size_t>(options.threads)) {
  context_.before_metrics = [this] { read_loads(); };
}

Result<std::unique_ptr<InferenceServer>> InferenceServer::start(const InferenceOptions& options,
                                                                std::vector<Route> routes,
                                                                ServeContext& context) {
  std::unique_ptr<InferenceServer> s(new InferenceServer(options, std::move(routes), context));
  s->http_ = HONE_TRY(HttpServer::start(
      options.http, [server = s.get()](WebRequest r, const std::shared_ptr<WebReply>& reply) {
        server->take(std::move(r), reply);
      }));
  return s;
}

InferenceServer::~InferenceServer() { stop(); }

// Every pending answer holds a reply, and a reply uses the server's connections and metrics. So no
// load may first bring another model; then each model ends its last step and answers all waiting
// requests, replaced models too. Later requests from the pool are refused by the models at once.
void InferenceServer::stop() {
  context_.ready = false;
  context_.loads.stop();
  for (const ModelSet::Model& model : context_.models.living()) model->join();
  if (http_) http_->stop();
  pool_.join();
}

bool InferenceServer::drain(double seconds) {
  context_.ready = false;
  return http_->drain(seconds);
}

WebHeaders InferenceServer::cors_of(const WebRequest& request) const {
  const std::string origin(request.header("origin"));
  if (origin.empty()) return {};
  for (const std::string& o : options_.origins)
    if (o == "*" || o == origin) return {{"Access-Control-Allow-Origin", o}, {"Vary", "Origin"}};
  return {};
}

bool InferenceServer::allowed(const WebRequest& request) const {
  if (options_.keys.empty()) return true;
  std::string_view key = request.header("x-api-key");
  if (const std::string_view bearer = request.header("authorization");
      bearer.starts_with("Bearer "))
    key = bearer.substr(7);
  bool found = false;
  for (const std::string& k : options_.keys) found |= equal(k, key);
  return found;
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
  auto counted = std::make_shared<CountedReply>(reply, std::move(cors), context_.metrics, open_);
  boost::asio::post(pool_, [this, r = std::move(request), c = std::move(counted)]() mutable {
    answer(std::move(r), std::move(c));
  });
}

void InferenceServer::answer(WebRequest request, const std::shared_ptr<WebReply>& reply) {
  const auto counted = std::static_pointer_cast<CountedReply>(reply);
  std::optional<std::vector<std::string>> parts = path_parts(request.path);
  if (!parts) return reply->send(web_error(400, "the path is not one"));
  const bool may = allowed(request);
  RouteCall call{std::move(request), std::move(*parts), reply, context_};
  try {
    for (const Route& route : routes_) {
      if (!may && !route.open) continue;
      counted->of(route.name);
      if (route.handle(call)) return;
    }
    counted->of("none");
    if (!may) {
      WebAnswer a = web_error(401, "this server asks for a key");
      a.headers = {{"WWW-Authenticate", "Bearer"}};
      return reply->send(std::move(a));
    }
    reply->send(web_error(404, "there is nothing at " + call.request.path));
  } catch (const std::exception& e) {
    log_warning("a request for {} ended in a bug of hone: {}", call.request.path, e.what());
    reply->send(web_error(500, "this is a bug in hone; its log says more"));
  }
}

// Updates the metrics of the models.
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
