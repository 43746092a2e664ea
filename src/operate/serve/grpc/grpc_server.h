// The Open Inference Protocol over gRPC, through the module libhone_grpc.so.
#pragma once

#include "operate/serve/inference_server.h"

namespace hone {

class GrpcListener;

class GrpcServer {
 public:
  // Serves calls through the routes of `server`, which must outlive it. H3431: the module is
  // missing, does not load or cannot listen.
  static Result<std::unique_ptr<GrpcServer>> start(const HttpOptions& options,
                                                   InferenceServer& server);
  ~GrpcServer();
  int port() const;
  void stop(double seconds);  // no new calls; open calls have this time

 private:
  class Door;
  explicit GrpcServer(std::unique_ptr<Door> door);
  std::unique_ptr<Door> door_;
  std::unique_ptr<GrpcListener> listener_;
};

}  // namespace hone
