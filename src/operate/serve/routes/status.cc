// Health, readiness and /metrics, which need no key.
#include <unistd.h>

#include "operate/serve/route.h"

namespace hone {
namespace {

// Names the endpoint, for clients that find a server at an address.
WebAnswer alive(const RouteCall& call) {
  return {200,
          dump_json(OrderedJson{{"endpoint", call.server.endpoint}, {"pid", ::getpid()}}) + "\n"};
}

void answer_ready(RouteCall& call) {
  if (call.server.ready) return call.reply->send(alive(call));
  WebAnswer a = web_error(503, "no model is ready");
  a.headers = {{"Retry-After", "1"}};
  call.reply->send(std::move(a));
}

bool handle_status(RouteCall& call) {
  const std::string& path = call.request.path;
  if (!call.get()) return false;
  if (path == "/metrics") {
    if (call.server.before_metrics) call.server.before_metrics();
    call.reply->send({200, prometheus_text(call.server.metrics), kPrometheusType});
  } else if (path == "/healthz" || path == "/livez" || path == "/v2/health/live") {
    call.reply->send(alive(call));
  } else if (path == "/readyz" || path == "/health" || path == "/v2/health/ready" ||
             (!call.server.health_route.empty() && path == call.server.health_route)) {
    answer_ready(call);
  } else if (path == "/ping") {  // TorchServe, SageMaker
    call.server.ready ? call.reply->send({200, "{\"status\": \"Healthy\"}\n"})
                      : call.reply->send({503, "{\"status\": \"Unhealthy\"}\n"});
  } else {
    return false;
  }
  return true;
}

}  // namespace

Route serve_route_status() { return {"status", handle_status, true}; }

}  // namespace hone
