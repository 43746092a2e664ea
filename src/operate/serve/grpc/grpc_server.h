// The Open Inference Protocol over gRPC, through the module libhone_grpc.so.
#pragma once

#include "operate/serve/inference_server.h"

namespace hone {

class GrpcListener;

class GrpcServer : public ServerDoor {
 public:
  // Calls go to the routes of `server`, which must outlive it. H3431: the module is not here, does not load or
  // cannot listen.
  static Result<std::unique_ptr<ServerDoor>> start(const HttpOptions& options,
                                                   InferenceServer& server);
  // H3431: the module is not here or does not load. H3301: the port is taken.
  static Status check(const HttpOptions& options);
  ~GrpcServer() override;
  int port() const override;
  void stop(double seconds) override;

 private:
  class Door;
  explicit GrpcServer(std::unique_ptr<Door> door);
  std::unique_ptr<Door> door_;
  std::unique_ptr<GrpcListener> listener_;
};

}  // namespace hone
