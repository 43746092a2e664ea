// hone serve MODEL...: answers requests over HTTP.
#include <charconv>
#include <csignal>

#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/pretrained/stored.h"
#include "operate/serve/errors.h"
#include "operate/serve/grpc/grpc_server.h"
#include "operate/serve/model_server.h"
#include "operate/serve/routes/routes.h"
#include "run/commands/endpoint_server.h"
#include "run/commands/serve_settings.h"

namespace hone {
namespace {

Error bad_flag(const std::string& what, const std::string& where, const std::string& todo) {
  return Error(err::kServeFlag, what).at(where).todo(todo);
}

Result<InferenceOptions> web_options(const ServeSettings& s) {
  InferenceOptions o;
  o.http.host = s.host;
  o.http.port = static_cast<int>(s.port);
  if (const std::string port = environment("AIP_HTTP_PORT"); !port.empty()) {
    o.http.host = "0.0.0.0";
    const auto [end, wrong] = std::from_chars(port.data(), port.data() + port.size(), o.http.port);
    if (wrong != std::errc() || end != port.data() + port.size())
      return bad_flag(fmt::format("'{}' is not a port", port), "AIP_HTTP_PORT",
                      "Vertex AI sets it; elsewhere unset it and give --host and --port");
  }
  o.http.tls_certificate = s.tls_certificate;
  o.http.tls_key = s.tls_key;
  o.http.most_body_bytes = static_cast<size_t>(s.max_body.bytes);
  o.http.most_connections = static_cast<size_t>(s.max_connections);
  o.origins = s.cors_origins;
  if (const char* key = std::getenv("HONE_API_KEY")) {
    if (*key == '\0')
      return bad_flag("the key is empty, and would open the server to all", "HONE_API_KEY",
                      "give it a key, or unset it for a server without one");
    o.keys.emplace_back(key);
  }
  if (!s.api_key_file.empty()) {
    const std::string text = HONE_TRY(file_store().read(s.api_key_file));
    for (const std::string& line : split(text, '\n'))
      if (const std::string_view key = trim(line); !key.empty()) o.keys.emplace_back(key);
    if (o.keys.empty())
      return bad_flag("the file has no key", s.api_key_file, "write a key in each line");
  }
  return o;
}

ServedOptions served_options(const ServeSettings& s, bool has_prefix) {
  ServedOptions o;
  o.task = s.task;
  if (has_prefix) o.prefix = s.prefix;
  o.device = s.device;
  o.threads = s.threads;
  o.batch_size = s.batch_size;
  o.max_length = s.max_length;
  if (s.cache_memory) o.cache_bytes = s.cache_memory->bytes;
  o.weights = asked_storage(s).value_or(WeightStorage::f32);
  o.engine.most_waiting = s.max_queue;
  o.open = open_options(s);
  if (!asked_storage(s)) o.open.quantization = as_stored();
  return o;
}

// The settings that the endpoint keeps, and those that were given. An endpoint with keys is never opened by a start without them.
Result<OrderedJson> serving_at(const Endpoint& e, const Schema& schema, bool has_keys) {
  const bool needs_key = e.serving.value(kNeedsKey, false);
  if (needs_key && !has_keys)
    return bad_flag(
        fmt::format("the endpoint '{}' asks for a key, and none is given", e.display_name),
        "--endpoint", "set HONE_API_KEY, or name a file with keys by --api_key_file");
  OrderedJson serving = kept_settings(schema);
  if (has_keys) serving[kNeedsKey] = true;
  return serving;
}

Result<ModelServerOptions> server_options(const ServeSettings& s, const Schema& schema) {
  ModelServerOptions o;
  o.sources = {.models = s.models,
               .registry = s.registry,
               .endpoint = s.endpoint,
               .model_repository = s.model_repository,
               .uri = environment("AIP_STORAGE_URI"),
               .traffic = s.traffic};
  o.models = served_options(s, schema.given("prefix"));
  o.web = HONE_TRY(web_options(s));
  o.apis = all_serve_api();
  o.endpoint_id = s.endpoint_id.empty() ? "1" : s.endpoint_id;
  o.version = version();
  o.predict_route = environment("AIP_PREDICT_ROUTE");
  o.health_route = environment("AIP_HEALTH_ROUTE");
  o.request_seconds = s.request_timeout;
  o.drain_seconds = s.drain_timeout;
  o.claim.awaited = environment(kAwaitedVariable);
  o.claim.take_over = s.take_over;
  o.claim.take_over_seconds = s.drain_delay + s.drain_timeout + 10;
  o.access_log = s.access_log;
  o.access_format = s.access_log_format == "json" ? AccessFormat::json : AccessFormat::combined;
  o.stops = stop_requested;
  o.on_lost = [](const std::string& why) {
    log_warning("{}: this server ends", why);
    request_stop(SIGTERM);
  };
  o.door_port = s.grpc_port;
  o.open_door = GrpcServer::start;
  o.check_door = GrpcServer::check;
  return o;
}

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
  std::optional<Endpoint> endpoint;
  if (!s.endpoint.empty()) {
    Registry registry = HONE_TRY(Registry::open(s.registry));
    endpoint = HONE_TRY(registry.endpoint(s.endpoint));
    HONE_TRY(use_kept_settings(schema, *endpoint));
  }
  install_stop_handlers();
  ModelServerOptions options = HONE_TRY(server_options(s, schema));
  if (endpoint)
    options.claim.serving = HONE_TRY(serving_at(*endpoint, schema, !options.web.keys.empty()));
  auto started = ModelServer::start(std::move(options));
  if (!started.ok() && stop_requested()) {
    log_info("{:<11} before all models were loaded", "stopped");
    return kExitDone;
  }
  const auto server = HONE_TRY(std::move(started));
  wait_for_stop();
  const double delay = stop_signal() == SIGINT ? 0 : s.drain_delay;
  log_info("{:<11} not ready; new requests are answered for {:.4g} s more", "stopping", delay);
  server->drain(delay);
  return kExitDone;
}

}  // namespace

Command command_serve() {
  return {.name = "serve",
          .summary = "answer requests with models over HTTP",
          .in = CommandGroup::kUse,
          .run = run_serve};
}

}  // namespace hone
