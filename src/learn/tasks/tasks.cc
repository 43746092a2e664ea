#include "learn/tasks/tasks.h"

namespace hone {

Task find_task(const std::string& name) {
  for (const Task& t : all_task())
    if (t.name == name) return t;
  HONE_BUG_IF(true, "no task '{}'", name);
}

}  // namespace hone
