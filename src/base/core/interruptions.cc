#include "base/core/interruptions.h"

#include <sys/resource.h>

namespace hone {

int64_t times_interrupted() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_nivcsw;
}

}  // namespace hone
