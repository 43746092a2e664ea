#include "operate/reporters/cloud_entries.h"

#include "base/core/text.h"
#include "operate/reporters/report_server.h"

namespace hone {
namespace {
constexpr size_t kMostEntryBytes = 200'000;      // the service takes 256 KB
constexpr size_t kMostRequestBytes = 5'000'000;  // and requests of 10 MB
constexpr size_t kMostRequestEntries = 1000;
}  // namespace

std::string cloud_entry(const LogRecord& line, const std::string& insert_id) {
  OrderedJson payload{{"message", utf8_prefix(line.message, kMostEntryBytes)}};
  if (!line.data.empty() && line.data.size() < kMostEntryBytes / 4) {
    const auto data = parse_ordered_json("{" + std::string(line.data) + "}", "a line of the log");
    if (data.ok())
      for (const auto& [name, value] : data->items())
        if (name != "message") payload[name] = value;
  }
  OrderedJson entry{{"severity", severity_of(line.level)},
                    {"timestamp", format_utc(line.wall_seconds, 6)},
                    {"insertId", insert_id},
                    {"jsonPayload", std::move(payload)}};
  if (line.step >= 0) entry["labels"] = {{"step", std::to_string(line.step)}};
  return report_json(entry);
}

std::vector<std::string> cloud_requests(const CloudLog& log,
                                        const std::vector<std::string>& entries) {
  OrderedJson labels = OrderedJson::object();
  for (const auto& [name, value] : log.labels) labels[name] = value;
  const OrderedJson resource{{"type", "global"}, {"labels", {{"project_id", log.project}}}};
  std::string head = report_json({{"logName", fmt::format("projects/{}/logs/hone", log.project)},
                                  {"resource", resource},
                                  {"labels", labels},
                                  {"partialSuccess", true}});
  head.back() = ',';
  head += " \"entries\": [";
  std::vector<std::string> requests;
  size_t count = 0;
  for (const std::string& entry : entries) {
    if (requests.empty() || count == kMostRequestEntries ||
        requests.back().size() + entry.size() > kMostRequestBytes) {
      requests.push_back(head);
      count = 0;
    }
    if (count++ > 0) requests.back() += ", ";
    requests.back() += entry;
  }
  for (std::string& r : requests) r += "]}";
  return requests;
}

}  // namespace hone
