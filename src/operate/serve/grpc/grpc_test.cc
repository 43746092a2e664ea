#include <gtest/gtest.h>

#include "operate/serve/grpc/errors.h"
#include "operate/serve/grpc/grpc_server.h"

namespace hone {
namespace {

// With or without the module: an address that is not of this machine is refused with the same code.
TEST(GrpcServer, RefusesWhatItCannotServe) {
  ServeContext context;
  const auto server = std::move(InferenceServer::start({}, {}, context).value());
  HttpOptions o;
  o.host = "192.0.2.1";
  EXPECT_EQ(std::string(GrpcServer::start(o, *server).error().code()), err::kGrpc.id);
}

}  // namespace
}  // namespace hone
