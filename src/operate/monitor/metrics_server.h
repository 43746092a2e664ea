// GET /metrics for Prometheus, during a run.
#pragma once

#include <memory>
#include <string>

#include "base/core/error.h"
#include "operate/metrics/metrics.h"

namespace hone {

class MetricsServer {
 public:
  // Listens at once; `metrics` must outlive it. Port 0 takes any free one. H3111: it cannot listen
  // there.
  static Result<std::unique_ptr<MetricsServer>> start(const Metrics& metrics,
                                                      const std::string& host, int port);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  int port() const;

 private:
  struct Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
