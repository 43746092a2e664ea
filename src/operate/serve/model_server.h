// A whole server: models from their sources and the web server that asks them. Models can be reloaded while it runs.
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
  ServedOptions models;  // of each model, unless its source gives others
  InferenceOptions web;
  std::vector<Api> apis;
  std::string endpoint_id;  // numeric, where no endpoint of the registry is served
  std::string version;      // of hone
  std::string predict_route, health_route;
  std::string access_log;  // path, or "-"; "": none
  AccessFormat access_format = AccessFormat::combined;
  double request_seconds = 0, drain_seconds = 20;
  ClaimOptions claim;  // of sources.endpoint, whose names need not be given again
  std::function<void(const std::string& why)> on_lost;  // another server has the endpoint: drain
  std::function<bool()> stops;  // true: the server must end, and loads nothing more; none: never
  // Opens another door beside the web server at `door_port`; without a port none is opened.
  std::optional<int64_t> door_port;
  std::function<Result<std::unique_ptr<ServerDoor>>(const HttpOptions&, InferenceServer&)>
      open_door;
  // Checks that the door can be opened, before another server is ended for this one.
  std::function<Status(const HttpOptions&)> check_door;
};

class ModelServer {
 public:
  // Listens, then loads the first models, and is ready at the end. The log says what was loaded and where it listens.
  // A server of the same endpoint that it replaces answers until the models are loaded, and continues if that fails.
  // Errors of sources, models, ports and doors; H3412: a stop was requested before all were loaded.
  static Result<std::unique_ptr<ModelServer>> start(ModelServerOptions options);
  ~ModelServer();

  std::string url() const { return web_->url(); }
  // InferenceServer::drain, with this delay; then the endpoint has no server.
  void drain(double delay_seconds);

 private:
  explicit ModelServer(ModelServerOptions options) : options_(std::move(options)) {}
  Status start();
  Status prepare_claim();
  // All that may fail, while the server to replace still answers.
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
