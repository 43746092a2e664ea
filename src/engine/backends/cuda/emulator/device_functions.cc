// Devices, contexts and attributes of the fake driver.
#include <cstring>

#include "engine/backends/cuda/emulator/state.h"

namespace hone::cuda::fake {
namespace {

const char* text_of(CUresult error) {
  switch (error) {
    case CUDA_SUCCESS:
      return "no error";
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "out of memory";
    case CUDA_ERROR_INVALID_HANDLE:
      return "invalid resource handle";
    case CUDA_ERROR_NOT_FOUND:
      return "named symbol not found";
    case CUDA_ERROR_LAUNCH_FAILED:
      return "unspecified launch failure";
    default:
      return "invalid argument";
  }
}

CUresult attribute(const FakeOptions& o, int& value, CUdevice_attribute which) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      value = o.multiprocessors;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      value = o.capability_major;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      value = o.capability_minor;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      value = static_cast<int>(most_shared_bytes(o.capability_major, o.capability_minor));
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

int64_t most_shared_bytes(int major, int minor) {
  if (major == 7) return (minor == 5 ? 64 : 96) << 10;
  if (major == 8) return (minor == 0 || minor == 7 ? 163 : 99) << 10;
  if (major == 12) return 99 << 10;
  return 227 << 10;
}

void add_device_functions(Driver& t) {
  t.cuInit = [](unsigned) {
    return enter(
        "cuInit", [](FakeState&) { return CUDA_SUCCESS; }, false);
  };
  t.cuDriverGetVersion = [](int* version) {
    *version = 13000;
    return CUDA_SUCCESS;
  };
  t.cuGetErrorString = [](CUresult error, const char** text) {
    *text = text_of(error);
    return CUDA_SUCCESS;
  };
  t.cuDeviceGetCount = [](int* count) {
    *count = 1;
    return CUDA_SUCCESS;
  };
  t.cuDeviceGet = [](CUdevice* device, int ordinal) {
    *device = 0;
    return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  };
  t.cuDeviceGetName = [](char* name, int bytes, CUdevice) {
    const auto body = [&](FakeState& s) {
      std::strncpy(name, s.options.name.c_str(), static_cast<size_t>(bytes) - 1);
      return CUDA_SUCCESS;
    };
    return enter("cuDeviceGetName", body, false);
  };
  t.cuDeviceGetPCIBusId = [](char* text, int bytes, CUdevice) {
    const auto body = [&](FakeState&) {
      std::strncpy(text, "0000:01:00.0", static_cast<size_t>(bytes) - 1);
      return CUDA_SUCCESS;
    };
    return enter("cuDeviceGetPCIBusId", body, false);
  };
  t.cuDeviceTotalMem = [](size_t* bytes, CUdevice) {
    const auto body = [&](FakeState& s) {
      *bytes = static_cast<size_t>(s.options.memory_bytes);
      return CUDA_SUCCESS;
    };
    return enter("cuDeviceTotalMem", body, false);
  };
  t.cuDeviceGetAttribute = [](int* value, CUdevice_attribute which, CUdevice) {
    const auto body = [&](FakeState& s) { return attribute(s.options, *value, which); };
    return enter("cuDeviceGetAttribute", body, false);
  };
  t.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) {
    const auto body = [&](FakeState& s) {
      ++s.retained;
      *context = reinterpret_cast<CUcontext>(&s);
      return CUDA_SUCCESS;
    };
    return enter("cuDevicePrimaryCtxRetain", body, false);
  };
  t.cuDevicePrimaryCtxRelease = [](CUdevice) {
    const auto body = [](FakeState& s) {
      if (s.retained == 0) {
        s.find("releases a context that nobody holds");
        return CUDA_ERROR_INVALID_CONTEXT;
      }
      --s.retained;
      return CUDA_SUCCESS;
    };
    return enter("cuDevicePrimaryCtxRelease", body, false);
  };
  t.cuCtxSetCurrent = [](CUcontext context) {
    const auto body = [&](FakeState& s) {
      if (context != nullptr && context != reinterpret_cast<CUcontext>(&s))
        return CUDA_ERROR_INVALID_CONTEXT;
      set_current_context(s, context != nullptr);
      return CUDA_SUCCESS;
    };
    return enter("cuCtxSetCurrent", body, false);
  };
}

}  // namespace hone::cuda::fake
