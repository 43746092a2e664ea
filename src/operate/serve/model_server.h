// A whole inference server: loads models from their sources, and runs the web server that answers requests to them.
// Models can be loaded and replaced while the server runs.
//
//   auto server = HONE_TRY(ModelServer::start(options));
//   wait_for_stop();
//   server->drain();
#pragma once

#include "operate/serve/endpoint_claim.h"
#include "operate/serve/inference_server.h"
#include "operate/serve/model_sources.h"

namespace hone {

struct ModelServerOptions {
  SourceOptions sources;
  // Options of each model. If its `task` or `prefix` is unset here, the value of the model's ModelSource is used.
  ServedOptions models;
  InferenceOptions web;
  std::vector<Api> apis;
  std::string endpoint_id;  // numeric id of the endpoint to report if sources.endpoint is ""
  std::string version;      // version of hone
  // Further paths for predictions and health checks, as Vertex AI's custom containers use them; "": none.
  std::string predict_route, health_route;
  std::string access_log;  // path of the access log, or "-" for standard output; "": none
  AccessFormat access_format = AccessFormat::combined;
  // request_seconds: time limit of a request; 0: none. drain_seconds: time that drain() gives to open requests.
  double request_seconds = 0, drain_seconds = 20;
  ClaimOptions claim;  // options for sources.endpoint; its `registry` and `endpoint` are filled in
  // Called with the reason when the endpoint no longer belongs to this server: at most once, on a thread of the
  // EndpointClaim. Then call drain(), but on another thread, because drain() waits for the claim's thread.
  std::function<void(const std::string& why)> on_lost;
  // Polled while models are loaded. Returns true if the server must end: loading stops with H3412. Null: never.
  std::function<bool()> stops;
  // Port of a ServerDoor: a second server beside the web server, such as gRPC. nullopt: no door is opened.
  std::optional<int64_t> door_port;
  // Opens the door; must be set if `door_port` is.
  std::function<Result<std::unique_ptr<ServerDoor>>(const HttpOptions&, InferenceServer&)>
      open_door;
  // Checks that the door can be opened; called before this server ends another one. Must be set if `door_port` is.
  std::function<Status(const HttpOptions&)> check_door;
};

class ModelServer {
 public:
  // Listens, loads the first models, and returns when the server is ready. Logs the models and the address. If this
  // server replaces another server of the same endpoint, the other one answers until the models are loaded, and
  // continues if loading fails. Errors: those of ModelSources::find, AccessLog::open, EndpointClaim, ServedModel::load,
  // ModelSet::set_traffic, InferenceServer::start and the door; H3412 a stop was requested before all models were
  // loaded.
  static Result<std::unique_ptr<ModelServer>> start(ModelServerOptions options);
  ~ModelServer();

  std::string url() const { return web_->url(); }
  // Calls InferenceServer::drain with `delay_seconds` and ModelServerOptions::drain_seconds, then removes this server
  // from the endpoint in the registry.
  void drain(double delay_seconds);

 private:
  explicit ModelServer(ModelServerOptions options) : options_(std::move(options)) {}
  Status start();
  Status prepare_claim();
  // Does all steps of the start that may fail, while the server that this one replaces still answers.
  Status start_beside();
  Status listen();
  Status open_door();
  Status load_first();
  HttpOptions door_options() const;
  bool ends() const { return context_.ends || (options_.stops && options_.stops()); }
  Status load(const ModelSource& source);
  Status reload(const LoadRequest& request);

  ModelServerOptions options_;
  ModelSources sources_;
  ServeContext context_;
  std::mutex loading_;
  int door_port_ = 0;  // of the open door; 0: none
  std::unique_ptr<EndpointClaim> claim_;
  std::unique_ptr<InferenceServer> web_;  // destroyed first, because it uses the members above
};

}  // namespace hone
