// Serves GET /metrics to Prometheus during a run.
#pragma once

#include <memory>
#include <string>

#include "base/core/error.h"
#include "operate/http/server.h"
#include "operate/telemetry/metrics.h"

namespace hone {

class MetricsServer {
 public:
  // Listens at once. `metrics` must outlive the server. Port 0: the kernel chooses a free port. Error H3301: it cannot
  // listen at this address.
  static Result<std::unique_ptr<MetricsServer>> start(const Metrics& metrics,
                                                      const std::string& host, int port);
  int port() const { return http_->port(); }

 private:
  explicit MetricsServer(std::unique_ptr<HttpServer> http) : http_(std::move(http)) {}
  std::unique_ptr<HttpServer> http_;
};

}  // namespace hone
