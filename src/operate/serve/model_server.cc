#include "operate/serve/model_server.h"

#include "base/core/log.h"

namespace hone {

Result<std::unique_ptr<ModelServer>> ModelServer::start(ModelServerOptions options) {
  std::unique_ptr<ModelServer> server(new ModelServer(std::move(options)));
  HONE_TRY(server->start());
  return server;
}

Status ModelServer::start() {
  // A load that is asked for while the first models load waits for them.
  std::lock_guard lock(loading_);
  sources_ = HONE_TRY(ModelSources::find(options_.sources));
  context_.request_seconds = options_.request_seconds;
  context_.version = options_.version;
  context_.predict_route = options_.predict_route;
  context_.health_route = options_.health_route;
  context_.endpoint = sources_.has_endpoint() ? sources_.endpoint_id() : options_.endpoint_id;
  options_.models.metrics = &context_.metrics;
  if (!options_.access_log.empty())
    context_.access = HONE_TRY(AccessLog::open(options_.access_log, options_.access_format));
  context_.models.loading(true);
  if (sources_.has_repository()) {
    context_.repository = [this] { return sources_.repository(); };
    context_.unload = [this](const std::string& name) { return context_.models.remove(name); };
  }
  context_.load = [this](const LoadRequest& r) { return reload(r); };
  HONE_TRY(prepare_claim());
  const bool replaces = claim_ && claim_->replaces();
  if (replaces) {
    if (Status s = start_beside(); !s.ok()) return claim_->unchanged(std::move(s.error()));
    HONE_TRY(claim_->end_other());
  }
  // The port answers while models load: alive, not ready.
  HONE_TRY(listen());
  if (claim_) HONE_TRY(claim_->take(web_->url(), web_->port(), options_.on_lost));
  HONE_TRY(open_door());
  if (!replaces) HONE_TRY(load_first());
  context_.ready = true;
  log_info("{:<11} {}", "listens", web_->url());
  if (options_.web.keys.empty() && is_reached_by_others(options_.web.http.host))
    log_warning(
        "everybody who reaches {} may send requests: set a key in HONE_API_KEY, or name a file of "
        "keys "
        "by --api_key_file",
        web_->url());
  if (door_port_ > 0) log_info("{:<11} {} port {}", "gRPC", options_.web.http.host, door_port_);
  return Ok{};
}

ModelServer::~ModelServer() {
  if (web_) return;  // which unloads the models
  for (const ModelSet::Model& model : context_.models.living()) model->join();
  for (const std::string& name : context_.models.names()) (void)context_.models.remove(name);
  wait_for_unloads();
}

Status ModelServer::prepare_claim() {
  if (!sources_.has_endpoint()) return Ok{};
  options_.claim.registry = options_.sources.registry;
  options_.claim.endpoint = sources_.endpoint_id();
  claim_ = HONE_TRY(EndpointClaim::prepare(std::move(options_.claim)));
  return Ok{};
}

Status ModelServer::start_beside() {
  const HttpOptions& http = options_.web.http;
  HONE_TRY(HttpServer::check_tls(http));
  if (!claim_->other_has(http.port)) HONE_TRY(listen());
  if (options_.door_port) {
    HttpOptions door = door_options();
    const bool waits = claim_->other_has(door.port);
    if (waits) door.port = 0;  // whether gRPC works at all
    if (web_ && !waits)
      HONE_TRY(open_door());
    else
      HONE_TRY(options_.check_door(door));
  }
  return load_first();
}

Status ModelServer::listen() {
  if (!web_) web_ = HONE_TRY(InferenceServer::start(options_.web, options_.apis, context_));
  return Ok{};
}

HttpOptions ModelServer::door_options() const {
  HttpOptions http = options_.web.http;
  http.port = static_cast<int>(*options_.door_port);
  return http;
}

Status ModelServer::open_door() {
  if (!options_.door_port || door_port_ > 0) return Ok{};
  auto door = HONE_TRY(options_.open_door(door_options(), *web_));
  door_port_ = door->port();
  web_->add_door(std::move(door));
  return Ok{};
}

Status ModelServer::load_first() {
  for (const ModelSource& m : sources_.first()) HONE_TRY(load(m));
  context_.models.loading(false);
  for (const auto& [name, shares] : sources_.traffic())
    if (Status s = context_.models.set_traffic(name, shares); !s.ok())
      return std::move(s.error()).at("--traffic");
  return Ok{};
}

void ModelServer::drain(double delay_seconds) {
  (void)web_->drain(delay_seconds, options_.drain_seconds);
  if (claim_) claim_->release();
}

Status ModelServer::load(const ModelSource& m) {
  ServedOptions o = options_.models;
  if (o.task.empty()) o.task = m.task;
  if (!o.prefix) o.prefix = m.prefix;
  o.deployed_id = m.deployed_id;
  o.cancelled = [this] { return ends(); };
  log_info("{:<11} {} version {}: {}", "loading", m.name, m.version, m.source);
  auto model = HONE_TRY(ServedModel::load(m.name, m.version, m.source, o));
  log_info("{:<11} {} version {}: {}, {}", "model", m.name, m.version, name_of(model->task()),
           m.source);
  context_.models.add(std::move(model));
  return Ok{};
}

// The same model again, or another version: it gets its share of the requests, the others what is
// left, and those without any go. Requests that run are finished by the version that has them.
Status ModelServer::reload(const LoadRequest& r) {
  std::lock_guard lock(loading_);
  if (!context_.ready) return server_ends();  // or its start failed
  HONE_TRY(check_model_name(r.name, r.version));
  ModelSource m = HONE_TRY(sources_.source_of(r));
  m.deployed_id = r.deployed_id;
  const auto served = context_.models.look_up(m.name, m.version);
  const bool again = served.ok() && r.version.empty() && !r.traffic;
  if (again && m.deployed_id.empty()) m.deployed_id = (*served)->deployed_id();
  HONE_TRY(load(m));
  if (!again) {
    const Traffic after =
        with_share(context_.models.traffic(m.name), m.version, r.traffic.value_or(100));
    HONE_TRY(context_.models.set_traffic(m.name, after));
    for (const auto& [v, share] : after)
      if (share == 0 && v != m.version) HONE_TRY(context_.models.remove(m.name, v));
  }
  // An endpoint answers with one model, as hone deploy writes it into the registry.
  if (sources_.has_endpoint())
    for (const std::string& name : context_.models.names())
      if (name != m.name) (void)context_.models.remove(name);
  return Ok{};
}

}  // namespace hone
