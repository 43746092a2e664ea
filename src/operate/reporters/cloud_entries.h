// Converts lines of the log to entries of Google Cloud Logging.
//   https://cloud.google.com/logging/docs/reference/v2/rest/v2/entries/write
#pragma once

#include <string>
#include <vector>

#include "base/core/log.h"

namespace hone {

// Converts a line to a LogEntry, one JSON object with severity, timestamp, insertId, jsonPayload and labels.step. A
// message that is too long for the service is cut. The service drops an entry if it already has one with the same
// `insert_id`.
std::string cloud_entry(const LogRecord& line, const std::string& insert_id);

struct CloudLog {
  std::string project;  // id of the Google Cloud project
  LogLabels labels;     // labels of every entry
};
// The request bodies for the service's method entries.write. `entries` are results of cloud_entry(). Each body has at
// most 1,000 entries and 5 MB, which is within the service's limits.
std::vector<std::string> cloud_requests(const CloudLog& log,
                                        const std::vector<std::string>& entries);

}  // namespace hone
