// Lines of the log as entries of Google Cloud Logging.
//   https://cloud.google.com/logging/docs/reference/v2/rest/v2/entries/write
#pragma once

#include <string>
#include <vector>

#include "base/core/log.h"

namespace hone {

// LogEntry: severity, timestamp, insertId, jsonPayload, labels.step. One JSON object; a message
// above the service's limit is cut.
std::string cloud_entry(const LogRecord& line, const std::string& insert_id);

struct CloudLog {
  std::string project;
  LogLabels labels;  // of every entry
};
// Bodies of entries.write within the service's limits: at most 1,000 entries and 5 MB each.
std::vector<std::string> cloud_requests(const CloudLog& log,
                                        const std::vector<std::string>& entries);

}  // namespace hone
