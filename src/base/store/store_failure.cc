#include "base/store/store_failure.h"

#include <cerrno>
#include <cstring>

#include "base/store/errors.h"

namespace hone {

Error store_failure(int64_t result, const std::string& doing, const std::string& path) {
  int code = static_cast<int>(-result);
  std::string what = fmt::format("cannot {} '{}': {}", doing, path, std::strerror(code));
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      return Error(err::kStoreMissing, what)
          .todo("check the path; relative paths start at the current folder");
    case EACCES:
    case EPERM:
    case EROFS:
      return Error(err::kStoreDenied, what)
          .todo("check who owns the file and its folder, or choose another place");
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Error(err::kStoreFull, what)
          .todo(
              "free some space (df -h shows how much there is) and run again; nothing half "
              "written was left under the file's name");
    default:
      return Error(err::kStoreFailed, what);
  }
}

}  // namespace hone
