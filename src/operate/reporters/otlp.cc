// An OpenTelemetry collector, by http/protobuf: metrics, the log, and the run as a trace.
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/ for the variables.
#include <array>
#include <optional>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "operate/reporters/errors.h"
#include "operate/reporters/line_box.h"
#include "operate/reporters/otlp_messages.h"
#include "operate/reporters/out_box.h"
#include "operate/reporters/report_server.h"
#include "operate/reporters/reporter.h"
#include "operate/reporters/ticker.h"

namespace hone {
namespace {

constexpr double kOtlpTickSeconds = 1, kOtlpEndSeconds = 15;
constexpr size_t kMostOtlpLines = 1000;  // in one request
enum class Signal : uint8_t { traces, metrics, logs };

double now_s() { return system_clock().wall_seconds(); }

class OtlpReporter : public Reporter {
 public:
  explicit OtlpReporter(const ReportSources& sources)
      : from_(sources), trace_(trace_context(environment("TRACEPARENT"))) {}

  Status begin() override {
    HONE_TRY(find_endpoints());
    name_resource();
    run_ = span("hone train", from_.info.begun_s);
    run_.parent_id = trace_.parent_id;
    run_.attributes = {{"hone.run.id", from_.info.id},     {"hone.run.name", from_.info.name},
                       {"hone.task", from_.info.task},     {"hone.model", from_.info.model},
                       {"hone.device", from_.info.device}, {"hone.devices", from_.info.devices}};
    log_info("{:<11} {}", "otlp", urls_[static_cast<size_t>(Signal::metrics)]);
    const double seconds =
        static_cast<double>(environment_number("OTEL_METRIC_EXPORT_INTERVAL", 60000)) / 1000;
    box_.emplace("the OpenTelemetry collector");
    lines_.open();
    ticker_.emplace(kOtlpTickSeconds, [this, seconds, next = now_s() + seconds]() mutable {
      send_lines();
      if (now_s() < next) return;
      send_metrics();
      next = now_s() + seconds;
    });
    return Ok{};
  }

  Status on_train_begin(const RunPlace& at) override {
    train_ = span("train", now_s());
    train_->attributes = {{"first_step", at.step}, {"total_steps", at.total_steps}};
    return Ok{};
  }

  Status on_log(const RunPlace& at, const OrderedJson& entry) override {
    if (const auto seconds = entry.find("eval_runtime");
        seconds != entry.end() && seconds->is_number()) {
      const double now = now_s();
      OtlpSpan s = span("evaluate", now - seconds->get<double>());
      s.end_seconds = now;
      s.attributes = {{"step", at.step}};
      for (const auto& [key, value] : entry.items())
        if (value.is_number() && key != "step") s.attributes.emplace_back(key, value);
      send(Signal::traces, {otlp_span(s)});
    }
    send_metrics();
    return Ok{};
  }

  void on_save(const RunPlace& at, const std::string& checkpoint, double seconds) override {
    const double now = now_s();
    OtlpSpan s = span("save", now - seconds);
    s.end_seconds = now;
    s.attributes = {{"step", at.step}, {"checkpoint", checkpoint}};
    send(Signal::traces, {otlp_span(s)});
  }

  void on_train_end(const RunPlace& at) override {
    if (!train_) return;
    train_->end_seconds = now_s();
    train_->attributes.emplace_back("last_step", at.step);
    send(Signal::traces, {otlp_span(*train_)});
    train_.reset();
  }

  void on_ended_before(const RunPlace& at, const Json&) override {
    run_.events.push_back({now_s(), "ended before", {{"step", at.step}}});
  }

  void on_line(const LogRecord& line) override { lines_.add(otlp_log(line, trace_, run_.span_id)); }

  void end(const RunEnd& end) override {
    if (!box_) return;
    ticker_.reset();
    if (train_) on_train_end({});  // it was broken off
    send_metrics();
    run_.end_seconds = end.ended_s > 0 ? end.ended_s : now_s();
    run_.attributes.emplace_back("hone.status", end.status);
    if (!end.code.empty()) run_.attributes.emplace_back("hone.error", end.code);
    run_.status = end.status == "finished" ? 1 : end.status == "stopped" ? 0 : 2;
    run_.message = end.message;
    send(Signal::traces, {otlp_span(run_)});
    send_lines();
    lines_.close();
    box_->finish(kOtlpEndSeconds);
    box_.reset();
  }

 private:
  Status find_endpoints() {
    for (const char* variable :
         {"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
          "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL"})
      if (const std::string p = environment(variable); !p.empty() && p != "http/protobuf")
        return Error(err::kReporterSetting,
                     fmt::format("{}={}: hone speaks http/protobuf", variable, p))
            .todo(fmt::format(
                "set {}=http/protobuf and name the collector's HTTP port, 4318 by default",
                variable));
    std::string base = environment("OTEL_EXPORTER_OTLP_ENDPOINT");
    if (base.empty()) base = "http://localhost:4318";
    headers_ = {{"content-type", "application/x-protobuf"}};
    for (const auto& [key, value] : key_values(environment("OTEL_EXPORTER_OTLP_HEADERS")))
      headers_[to_lower(key)] = value;
    constexpr std::array<const char*, 3> kNames = {"traces", "metrics", "logs"};
    for (size_t i = 0; i < kNames.size(); ++i) {
      std::string upper = kNames[i];
      for (char& c : upper) c = static_cast<char>(c - 'a' + 'A');
      const std::string variable = "OTEL_EXPORTER_OTLP_" + upper + "_ENDPOINT";
      const std::string own = environment(variable.c_str());
      const ServerAddress a =
          HONE_TRY(own.empty() ? server_address("OTEL_EXPORTER_OTLP_ENDPOINT", base)
                               : server_address(variable, own));
      urls_[i] = own.empty() ? a.url + "/v1/" + kNames[i] : a.url;
    }
    const double seconds =
        static_cast<double>(environment_number("OTEL_EXPORTER_OTLP_TIMEOUT", 10000)) / 1000;
    const std::string& url = urls_[static_cast<size_t>(Signal::metrics)];
    server_.emplace(
        "the OpenTelemetry collector at " + url.substr(0, url.find('/', url.find("://") + 3)),
        seconds);
    return Ok{};
  }

  // The variables take precedence over hone's values.
  void name_resource() {
    std::string service = environment("OTEL_SERVICE_NAME");
    OtlpAttributes given;
    for (auto& [key, value] : key_values(environment("OTEL_RESOURCE_ATTRIBUTES"))) {
      if (key == "service.name" && service.empty()) service = value;
      if (key != "service.name") given.emplace_back(key, value);
    }
    resource_ = {{"service.name", service.empty() ? "hone" : service},
                 {"service.instance.id", fmt::format("{}-{}", from_.info.id, from_.info.rank)},
                 {"host.name", from_.info.machine.host},
                 {"telemetry.sdk.name", "hone"},
                 {"telemetry.sdk.language", "cpp"}};
    for (const auto& [key, value] : given) {
      std::erase_if(resource_, [&, name = key](const auto& a) { return a.first == name; });
      resource_.emplace_back(key, value);
    }
  }

  OtlpSpan span(const std::string& name, double begin) const {
    OtlpSpan s;
    s.trace_id = trace_.trace_id;
    s.span_id = random_bytes(8);
    s.parent_id = train_ ? train_->span_id : run_.span_id;
    s.name = name;
    s.begin_seconds = begin;
    return s;
  }

  void send(Signal signal, const std::vector<std::string>& elements) {
    box_->send([this, signal, body = otlp_request(resource_, elements)]() -> Status {
      HONE_TRY(server_->send("POST", urls_[static_cast<size_t>(signal)], headers_, body));
      return Ok{};
    });
  }

  void send_metrics() {
    std::vector<std::string> all;
    for (const Metrics::Reading& m : from_.metrics.read())
      if (!m.values.empty() || m.kind == Metrics::Kind::histogram)
        all.push_back(otlp_metric(m, from_.info.begun_s, now_s()));
    if (!all.empty()) send(Signal::metrics, all);
  }

  void send_lines() {
    const std::vector<std::string> lines = lines_.take();
    for (size_t i = 0; i < lines.size(); i += kMostOtlpLines) {
      const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(i);
      const auto count = std::min(kMostOtlpLines, lines.size() - i);
      send(Signal::logs, {begin, begin + static_cast<std::ptrdiff_t>(count)});
    }
  }

  ReportSources from_;
  TraceContext trace_;
  OtlpSpan run_;
  std::optional<OtlpSpan> train_;
  std::array<std::string, 3> urls_;
  HttpHeaders headers_;
  OtlpAttributes resource_;
  std::optional<ReportServer> server_;
  LineBox lines_;                 // elements of a request
  std::optional<OutBox> box_;     // its jobs use the others
  std::optional<Ticker> ticker_;  // last: fills the box
};

}  // namespace

ReporterForm reporter_otlp() {
  return {"otlp",
          [] {
            return !environment("OTEL_EXPORTER_OTLP_ENDPOINT").empty() &&
                   to_lower(environment("OTEL_SDK_DISABLED")) != "true";
          },
          [](const ReportSources& s) { return std::make_unique<OtlpReporter>(s); }};
}

}  // namespace hone
