// hone serve MODEL...: answers requests over HTTP.
#include <algorithm>
#include <charconv>
#include <thread>

#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/serve/errors.h"
#include "operate/serve/grpc/grpc_server.h"
#include "operate/serve/inference_server.h"
#include "operate/serve/routes/routes.h"
#include "run/commands/command.h"
#include "run/commands/model_source.h"

namespace hone {
namespace {

struct ServeSettings {
#define HONE_SETTINGS "run/commands/serve.def"
#include "base/settings/fields.inc"
};

Error bad_flag(const std::string& what, const std::string& where, const std::string& todo) {
  return Error(err::kServeFlag, what).at(where).todo(todo);
}

class Server {
 public:
  explicit Server(const ServeSettings& s) : s_(s) {}

  Status start() {
    // A load that is asked for while the first models load waits for them.
    std::lock_guard lock(loading_);
    HONE_TRY(find_models());
    HONE_TRY(read_traffic());
    InferenceOptions o = HONE_TRY(options());
    context_.request_seconds = s_.request_timeout;
    context_.version = version();
    context_.predict_route = environment("AIP_PREDICT_ROUTE");
    context_.health_route = environment("AIP_HEALTH_ROUTE");
    context_.endpoint = !endpoint_.id.empty()     ? endpoint_.id
                        : !s_.endpoint_id.empty() ? s_.endpoint_id
                                                  : "1";
    if (!s_.model_repository.empty()) {
      context_.repository = [this] {
        auto names = repository_names(s_.model_repository);
        return names.ok() ? std::move(*names) : std::vector<std::string>();
      };
      context_.unload = [this](const std::string& name) { return context_.models.remove(name); };
    }
    context_.load = [this](const LoadRequest& r) { return reload(r); };
    // The port answers while models load: alive, not ready.
    server_ = HONE_TRY(InferenceServer::start(o, all_serve_route(), context_));
    if (s_.grpc_port) {
      o.http.port = static_cast<int>(*s_.grpc_port);
      grpc_ = HONE_TRY(GrpcServer::start(o.http, *server_));
    }
    for (const ModelSource& m : sources_) HONE_TRY(load(m));
    HONE_TRY(set_traffic());
    HONE_TRY(announce(server_->url()));
    context_.ready = true;
    log_info("{:<11} {}", "listens", server_->url());
    if (grpc_) log_info("{:<11} {} port {}", "gRPC", s_.host, grpc_->port());
    return Ok{};
  }

  void drain() {
    context_.ready = false;  // for those that ask either server, and no load begins from now on
    // Both servers at once, so that they share the time. The last part of it is for telling those that still wait.
    const double last = std::min(2.0, s_.drain_timeout / 10), first = s_.drain_timeout - last;
    std::thread grpc;
    if (grpc_) grpc = std::thread([&] { grpc_->stop(first); });
    if (!server_->drain(first)) {
      log_warning("some requests were not done after {:.4g} s", first);
      for (const auto& model : context_.models.living()) model->stop();
      (void)server_->drain(last);
    }
    if (grpc.joinable()) grpc.join();
  }
  // A job of a model holds its reply, which uses the servers, and the model itself. So first no load may bring another
  // model; then each model ends the step that runs, however long it takes, and gives up its jobs; then the servers go,
  // whose connections may hold models too; and last the models. After a start that failed as well: requests may run.
  ~Server() {
    context_.ready = false;
    context_.loads.stop();
    for (const auto& model : context_.models.living()) model->join();
    grpc_.reset();
    if (server_) server_->stop();
    server_.reset();
    for (const std::string& name : context_.models.names()) (void)context_.models.remove(name);
    wait_for_unloads();
  }

 private:
  Status find_models() {
    for (const std::string& text : s_.models)
      sources_.push_back(HONE_TRY(model_source(text, s_.registry)));
    if (!s_.endpoint.empty()) {
      Registry registry = HONE_TRY(Registry::open(s_.registry));
      endpoint_ = HONE_TRY(registry.endpoint(s_.endpoint));
      for (const DeployedModel& d : endpoint_.deployed) {
        sources_.push_back(registered_source(HONE_TRY(registry.version(d.model, d.version))));
        traffic_[d.model][std::to_string(d.version)] = d.traffic;
        sources_.back().deployed_id = d.id;
      }
    }
    if (!s_.model_repository.empty())
      for (const std::string& name : HONE_TRY(repository_names(s_.model_repository)))
        sources_.push_back(HONE_TRY(in_repository(s_.model_repository, name)));
    if (const std::string uri = environment("AIP_STORAGE_URI"); sources_.empty() && !uri.empty())
      sources_.push_back({.name = "model", .source = uri});
    if (sources_.empty() && s_.model_repository.empty() && s_.endpoint.empty())
      return bad_flag("no model is named", "hone serve",
                      "name a folder or hub name: hone serve t5=output/t5");
    for (size_t i = 0; i < sources_.size(); ++i)
      for (size_t k = 0; k < i; ++k)
        if (sources_[i].name == sources_[k].name && sources_[i].version == sources_[k].version)
          return bad_flag(
              fmt::format("two models are named {}:{}", sources_[i].name, sources_[i].version),
              "hone serve", "name them apart: NAME:VERSION=FOLDER");
    return Ok{};
  }

  Result<InferenceOptions> options() const {
    InferenceOptions o;
    o.http.host = s_.host;
    o.http.port = static_cast<int>(s_.port);
    if (const std::string port = environment("AIP_HTTP_PORT"); !port.empty()) {
      o.http.host = "0.0.0.0";
      const auto [end, wrong] =
          std::from_chars(port.data(), port.data() + port.size(), o.http.port);
      if (wrong != std::errc() || end != port.data() + port.size())
        return bad_flag(fmt::format("'{}' is not a port", port), "AIP_HTTP_PORT",
                        "Vertex AI sets it; elsewhere unset it and give --host and --port");
    }
    o.http.tls_certificate = s_.tls_certificate, o.http.tls_key = s_.tls_key;
    o.http.most_body_bytes = static_cast<size_t>(s_.max_body.bytes);
    o.http.most_connections = static_cast<size_t>(s_.max_connections);
    o.origins = s_.cors_origins;
    if (const std::string key = environment("HONE_API_KEY"); !key.empty()) o.keys.push_back(key);
    if (!s_.api_key_file.empty()) {
      const std::string text = HONE_TRY(file_store().read(s_.api_key_file));
      for (const std::string& line : split(text, '\n'))
        if (const std::string_view key = trim(line); !key.empty()) o.keys.emplace_back(key);
      if (o.keys.empty())
        return bad_flag("the file has no key", s_.api_key_file, "write a key in each line");
    }
    return o;
  }

  ServedOptions served_options() {
    ServedOptions o;
    o.task = s_.task, o.prefix = s_.prefix, o.device = s_.device, o.threads = s_.threads;
    o.batch_size = s_.batch_size, o.max_length = s_.max_length;
    if (s_.cache_memory) o.cache_bytes = s_.cache_memory->bytes;
    o.weights = s_.load_in_8bit          ? WeightStorage::i8
                : s_.dtype == "bfloat16" ? WeightStorage::bf16
                                         : WeightStorage::f32;
    o.engine.most_waiting = s_.max_queue;
    o.metrics = &context_.metrics;
    o.open = open_options(s_);
    return o;
  }

  Status load(const ModelSource& m) {
    ServedOptions o = served_options();
    if (o.task.empty()) o.task = m.task;
    if (o.prefix.empty()) o.prefix = m.prefix;
    o.deployed_id = m.deployed_id;
    auto model = HONE_TRY(ServedModel::load(m.name, m.version, m.source, o));
    log_info("{:<11} {} version {}: {}, {}", "model", m.name, m.version, name_of(model->task()),
             m.source);
    context_.models.add(std::move(model));
    return Ok{};
  }

  Result<ModelSource> source_of(const LoadRequest& r) const {
    if (!s_.endpoint.empty()) {
      Registry registry = HONE_TRY(Registry::open(s_.registry));
      return registered_source(
          HONE_TRY(resolve_model(registry, r.version.empty() ? r.name : r.name + ":" + r.version)));
    }
    if (!s_.model_repository.empty()) return in_repository(s_.model_repository, r.name, r.version);
    const ModelSource* newest = nullptr;
    for (const ModelSource& m : sources_)
      if (m.name == r.name && (r.version.empty() || m.version == r.version) &&
          (newest == nullptr || !is_newer(newest->version, m.version)))
        newest = &m;
    if (newest != nullptr) return *newest;
    return Error(err::kServeNoModel, fmt::format("no model is called '{}' {}", r.name, r.version))
        .todo("start the server with --endpoint or --model_repository to load others");
  }

  // The same model again, or another version: it gets its share of the requests, the others what is
  // left, and those without any go. Requests that run are finished by the version that has them.
  Status reload(const LoadRequest& r) {
    std::lock_guard lock(loading_);
    if (!context_.ready) return server_ends();  // or its start failed
    ModelSource m = HONE_TRY(source_of(r));
    m.deployed_id = r.deployed_id;
    const auto served = context_.models.look_up(m.name, m.version);
    const bool again = served.ok() && r.version.empty() && !r.traffic;
    if (again && m.deployed_id.empty()) m.deployed_id = (*served)->deployed_id();
    HONE_TRY(load(m));
    if (!again) {
      const ModelSet::Traffic after =
          with_share(context_.models.traffic(m.name), m.version, r.traffic.value_or(100));
      HONE_TRY(context_.models.set_traffic(m.name, after));
      for (const auto& [v, share] : after)
        if (share == 0 && v != m.version) HONE_TRY(context_.models.remove(m.name, v));
    }
    // An endpoint answers with one model, as hone deploy writes it into the registry.
    if (!s_.endpoint.empty())
      for (const std::string& name : context_.models.names())
        if (name != m.name) (void)context_.models.remove(name);
    return Ok{};
  }

  // Records the address of the endpoint in the registry.
  Status announce(const std::string& url) {
    if (s_.endpoint.empty()) return Ok{};
    Registry registry = HONE_TRY(Registry::open(s_.registry));
    return registry.database().write([&]() -> Status {
      Endpoint e = HONE_TRY(registry.endpoint(endpoint_.id));
      e.address = url;
      endpoint_ = HONE_TRY(registry.set_endpoint(e));
      return Ok{};
    });
  }

  Status read_traffic() {
    for (const std::string& text : s_.traffic) {
      const size_t equals = text.rfind('='), colon = text.rfind(':', equals);
      const auto wrong = [&] {
        return bad_flag(fmt::format("'{}' is not a share of requests", text), "--traffic",
                        "write NAME:VERSION=PERCENT");
      };
      if (equals == std::string::npos || colon == std::string::npos) return wrong();
      const std::string number = text.substr(equals + 1);
      if (number.empty() || number.size() > 3 ||
          number.find_first_not_of("0123456789") != std::string::npos)
        return wrong();
      traffic_[text.substr(0, colon)][text.substr(colon + 1, equals - colon - 1)] =
          std::stoll(number);
    }
    return Ok{};
  }

  Status set_traffic() {
    for (const auto& [name, shares] : traffic_)
      if (Status s = context_.models.set_traffic(name, shares); !s.ok())
        return std::move(s.error()).at("--traffic");
    return Ok{};
  }

  const ServeSettings& s_;
  ServeContext context_;
  std::vector<ModelSource> sources_;
  Endpoint endpoint_;
  std::map<std::string, ModelSet::Traffic> traffic_;  // of the endpoint and of --traffic
  std::mutex loading_;
  std::unique_ptr<InferenceServer> server_;
  std::unique_ptr<GrpcServer> grpc_;
};

// The words before the first flag are models.
std::vector<std::string> with_models_flag(const std::vector<std::string>& args) {
  size_t words = 0;
  while (words < args.size() && !args[words].starts_with("-")) ++words;
  if (words == 0) return args;
  if (words == 1 &&
      (args[0].ends_with(".yaml") || args[0].ends_with(".yml") || args[0].ends_with(".json")))
    return args;
  std::vector<std::string> all{"--models"};
  all.insert(all.end(), args.begin(), args.end());
  return all;
}

Result<int> run_serve(const std::vector<std::string>& args) {
  ServeSettings s;
  Schema schema("hone serve", "answer requests with models over HTTP");
  s.bind(schema);
  if (HONE_TRY(parse_settings(schema, with_models_flag(args))).done) return kExitDone;
  install_stop_handlers();
  Server server(s);
  HONE_TRY(server.start());
  while (!stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  log_info("{:<11} requests are finished, new ones refused", "stopping");
  server.drain();
  return kExitDone;
}

}  // namespace

Command command_serve() {
  return {.name = "serve", .summary = "answer requests with models over HTTP", .run = run_serve};
}

}  // namespace hone
