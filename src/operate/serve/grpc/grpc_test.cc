#include <gtest/gtest.h>

#include "operate/http/peers_test.h"
#include "operate/serve/grpc/errors.h"
#include "operate/serve/grpc/grpc_module.h"
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

TEST(GrpcServer, SaysHowManyCallsOfAConnectionMayRun) {
  ServeContext context;
  const auto server = std::move(InferenceServer::start({}, {}, context).value());
  const auto grpc = GrpcServer::start({}, *server);
  if (!grpc.ok()) GTEST_SKIP() << grpc.error().text();
  Client2 c((*grpc)->port());
  EXPECT_TRUE(c.until([&] {
    return c.setting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS) == uint32_t{kGrpcMostStreams};
  }));
}

}  // namespace
}  // namespace hone
