// Any text as a reporter's variable: addresses without user and password, names and values, a
// trace.
#include "base/core/error.h"
#include "operate/reporters/mlflow_client.h"
#include "operate/reporters/otlp_messages.h"
#include "operate/reporters/report_server.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const Result<ServerAddress> a = server_address("X", text); a.ok()) {
    const size_t begin = a->url.find("://") + 3;
    const std::string host = a->url.substr(begin, a->url.find_first_of("/?#", begin) - begin);
    HONE_BUG_IF(host.find('@') != std::string::npos, "a password is left in an address");
  }
  for (const auto& [key, value] : key_values(text))
    HONE_BUG_IF(key.empty(), "a value without a name");
  HONE_BUG_IF(trace_context(text).trace_id.size() != 16, "a trace without an id");
  HONE_BUG_IF(mlflow_name(text).size() != text.size(), "a name is cut");
  return 0;
}
