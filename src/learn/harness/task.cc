#include "learn/harness/task.h"

namespace hone {

Schema described(const Task& task, const std::string& command) {
  Schema schema(command, "");
  task.settings->bind(schema);
  task.bind(schema);
  return schema;
}

}  // namespace hone
