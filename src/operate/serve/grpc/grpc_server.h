// Serves the Open Inference Protocol over gRPC, through the module libhone_grpc.so.
#pragma once

#include "operate/serve/inference_server.h"

namespace hone {

class GrpcListener;

class GrpcServer : public ServerDoor {
 public:
  // Starts to listen. Calls go to `server`, which must outlive the result. Errors: H3431 the module is missing,
  // cannot be loaded or cannot listen; those of reading the TLS files.
  static Result<std::unique_ptr<ServerDoor>> start(const HttpOptions& options,
                                                   InferenceServer& server);
  // Checks whether start() can succeed, without starting. Errors: H3431 the module is missing or cannot be loaded;
  // H3301 no server can listen at the address of `options`.
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
