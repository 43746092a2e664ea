// Google Cloud Logging, for machines where no agent reads the log: by entries.write.
#include <unistd.h>

#include <atomic>
#include <optional>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/store/credentials/google.h"
#include "operate/reporters/cloud_entries.h"
#include "operate/reporters/errors.h"
#include "operate/reporters/line_box.h"
#include "operate/reporters/out_box.h"
#include "operate/reporters/report_server.h"
#include "operate/reporters/reporter.h"
#include "operate/reporters/ticker.h"

namespace hone {
namespace {

constexpr double kCloudSendSeconds = 1, kCloudEndSeconds = 15;

class CloudLogging : public Reporter {
 public:
  explicit CloudLogging(const ReportSources& sources) : from_(sources) {}

  Status begin() override {
    const char* variable = "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING";
    const std::string other = environment(variable);
    const ServerAddress at = HONE_TRY(
        server_address(variable, other.empty() ? "https://logging.googleapis.com" : other));
    url_ = at.url + "/v2/entries:write";
    credentials_ = HONE_TRY(GoogleCredentials::find());
    if (HONE_TRY(credentials_->authorization()).empty() && other.empty())
      return Error(err::kReporterSetting, "Google Cloud Logging: there are no credentials")
          .todo(
              "run 'gcloud auth application-default login', or set GOOGLE_APPLICATION_CREDENTIALS");
    log_.project = credentials_->project();
    if (log_.project.empty())
      return Error(err::kReporterSetting, "Google Cloud Logging: the project is not known")
          .todo("set GOOGLE_CLOUD_PROJECT");
    log_.labels = {{"run", from_.info.id},
                   {"rank", std::to_string(from_.info.rank)},
                   {"host", from_.info.machine.host}};
    // For this process alone: the one that starts the run again numbers its lines from 0 too.
    prefix_ = fmt::format("{}-{}-{:x}-{}-", from_.info.id, from_.info.rank,
                          static_cast<int64_t>(system_clock().wall_seconds() * 1000), ::getpid());
    server_.emplace("Google Cloud Logging");
    box_.emplace("Google Cloud Logging");
    lines_.open();
    log_info("{:<11} projects/{}/logs/hone, run={}", "cloud log", log_.project, from_.info.id);
    ticker_.emplace(kCloudSendSeconds, [this] { send_lines(); });
    return Ok{};
  }

  void on_line(const LogRecord& line) override {
    lines_.add(cloud_entry(line, prefix_ + std::to_string(count_++)));
  }

  void end(const RunEnd&) override {
    if (!box_) return;
    ticker_.reset();
    send_lines();
    lines_.close();
    box_->finish(kCloudEndSeconds);
    box_.reset();
  }

 private:
  void send_lines() {
    for (std::string& body : cloud_requests(log_, lines_.take()))
      box_->send([this, body = std::move(body)] { return write(body); });
  }

  Status write(const std::string& body) {
    std::string refused;
    for (;;) {
      HttpHeaders headers{{"content-type", "application/json"}};
      const std::string who = HONE_TRY(credentials_->authorization(refused));
      if (!who.empty()) headers["authorization"] = who;
      const HttpResponse answer = HONE_TRY(server_->ask("POST", url_, headers, body));
      if (answer.status >= 200 && answer.status < 300) return Ok{};
      if (answer.status != 401 || !refused.empty() || who.empty()) return server_->refusal(answer);
      refused = who;  // once more, with a new token
    }
  }

  ReportSources from_;
  CloudLog log_;
  std::string url_, prefix_;
  std::unique_ptr<GoogleCredentials> credentials_;
  std::optional<ReportServer> server_;
  LineBox lines_;  // entries
  std::atomic<int64_t> count_ = 0;
  std::optional<OutBox> box_;     // its jobs use the others
  std::optional<Ticker> ticker_;  // last: fills the box
};

}  // namespace

ReporterForm reporter_cloud_logging() {
  // Never by "all": where an agent reads the log, each line would be there twice.
  return {"cloud_logging", [] { return false; },
          [](const ReportSources& s) { return std::make_unique<CloudLogging>(s); }};
}

}  // namespace hone
