#include "operate/monitor/metrics_server.h"

namespace hone {
namespace {

WebAnswer metrics_answer(const WebRequest& request, const Metrics& metrics) {
  constexpr const char* kPlain = "text/plain; charset=utf-8";
  if (request.method != "GET" && request.method != "HEAD")
    return {405, "only GET and HEAD\n", kPlain};
  if (request.path == "/metrics") return {200, prometheus_text(metrics), kPrometheusType};
  if (request.path == "/healthz") return {200, "ok\n", kPlain};
  return {404, "/metrics and /healthz are here\n", kPlain};
}

}  // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const Metrics& metrics,
                                                            const std::string& host, int port) {
  HttpOptions options;
  options.host = host;
  options.port = port;
  options.most_body_bytes = 16 << 10;
  const auto answer = [&metrics](const WebRequest& request,
                                 const std::shared_ptr<WebReply>& reply) {
    reply->send(metrics_answer(request, metrics));
  };
  auto http = HONE_TRY(HttpServer::start(
      options, answer, {}, fmt::format("--metrics_host {} --metrics_port {}", host, port)));
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(http)));
}

}  // namespace hone
