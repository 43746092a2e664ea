// Health, readiness and /metrics, which need no key.
#include <unistd.h>

#include "operate/serve/route.h"

namespace hone {
namespace {

// Names the endpoint and the process: `hone endpoints` finds its servers by them.
WebAnswer alive(const RouteCall& call) {
  return {200,
          dump_json(OrderedJson{{"endpoint", call.server.endpoint}, {"pid", ::getpid()}}) + "\n"};
}

void answer_alive(RouteCall& call) { call.reply->send(alive(call)); }

void answer_ready(RouteCall& call) {
  if (call.server.ready)
    return call.reply->send(
        {200, dump_json(OrderedJson{{"endpoint", call.server.endpoint}}) + "\n"});
  WebAnswer a = web_error(503, "no model is ready");
  a.headers = {{"Retry-After", "1"}};
  call.reply->send(std::move(a));
}

// As TorchServe and SageMaker answer.
void answer_ping(RouteCall& call) {
  if (call.server.ready) return call.reply->send({200, "{\"status\": \"Healthy\"}\n"});
  WebAnswer a{503, "{\"status\": \"Unhealthy\"}\n"};
  a.headers = {{"Retry-After", "1"}};
  call.reply->send(std::move(a));
}

void answer_metrics(RouteCall& call) {
  if (call.server.before_metrics) call.server.before_metrics();
  call.reply->send({200, prometheus_text(call.server.metrics), kPrometheusType});
}

std::vector<Route> status_routes(const ServeContext& server) {
  std::vector<Route> routes{
      {"GET", "healthz", answer_alive},        {"GET", "livez", answer_alive},
      {"GET", "v2/health/live", answer_alive}, {"GET", "readyz", answer_ready},
      {"GET", "health", answer_ready},         {"GET", "v2/health/ready", answer_ready}};
  if (!server.health_route.empty()) routes.push_back({"GET", server.health_route, answer_ready});
  routes.push_back({"GET", "ping", answer_ping});
  for (Route& r : routes) r.thread = RouteThread::server;
  routes.push_back({"GET", "metrics", answer_metrics});
  return routes;
}

}  // namespace

Api serve_api_status() { return {"status", status_routes, true}; }

}  // namespace hone
