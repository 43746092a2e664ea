// The part of the PJRT C API (openxla.org, "PJRT C API") that hone calls, declared with names of its own:
// handles, the arguments of calls, and the table that a plug-in's GetPjrtApi() returns. Layouts are those
// of version 0.81; pjrt_api_test.cc compares each one with the plug-in's own header. A member of an
// argument struct is an input unless its comment says `out`. Every call returns null, or an error that the
// caller destroys.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::xla::pjrt {

struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Executable;
struct LoadedExecutable;
struct Buffer;
struct Topology;

// The first members of every argument struct.
struct Head {
  size_t struct_size = 0;     // the size of the whole struct; Plugin::call() sets it
  void* extension = nullptr;  // unused
};

struct ErrorArgs : Head {
  Error* error = nullptr;
};
struct ErrorMessageArgs : Head {
  const Error* error = nullptr;
  const char* message = nullptr;  // out
  size_t message_size = 0;        // out
};
struct InitializeArgs : Head {};

struct NamedValue : Head {
  static constexpr int kString = 0, kInt64 = 1, kInt64List = 2, kFloat = 3, kBool = 4;
  const char* name = nullptr;
  size_t name_size = 0;
  int type = kString;
  union {
    const char* string_value = nullptr;
    int64_t int64_value;
    const int64_t* int64_list;
    float float_value;
    bool bool_value;
  };
  size_t value_size = 0;  // number of elements of a list or of bytes of a string; else 1
};
struct AttributesArgs : Head {
  const NamedValue* attributes = nullptr;  // out
  size_t count = 0;                        // out
};

struct EventArgs : Head {
  Event* event = nullptr;
};

struct ClientCreateArgs : Head {
  const NamedValue* options = nullptr;
  size_t option_count = 0;
  // Callbacks that share values between processes.
  void* get = nullptr;
  void* get_argument = nullptr;
  void* put = nullptr;
  void* put_argument = nullptr;
  Client* client = nullptr;  // out
  void* try_get = nullptr;
  void* try_get_argument = nullptr;
};
struct ClientArgs : Head {
  Client* client = nullptr;
};
struct ClientTextArgs : Head {  // asks for the platform's name, or its version
  Client* client = nullptr;
  const char* text = nullptr;  // out
  size_t text_size = 0;        // out
};
struct ClientDevicesArgs : Head {
  Client* client = nullptr;
  Device* const* devices = nullptr;  // out
  size_t count = 0;                  // out
};

struct SourceText : Head {  // a program to compile
  const char* code = nullptr;
  size_t code_size = 0;
  const char* format = nullptr;
  size_t format_size = 0;
};
struct ClientCompileArgs : Head {
  Client* client = nullptr;
  const SourceText* program = nullptr;
  const char* options = nullptr;  // a serialized CompileOptionsProto
  size_t options_size = 0;
  LoadedExecutable* executable = nullptr;  // out
};
struct CompileArgs : Head {
  const Topology* topology = nullptr;
  const SourceText* program = nullptr;
  const char* options = nullptr;
  size_t options_size = 0;
  Client* client = nullptr;
  Executable* executable = nullptr;  // out
};
struct TopologyCreateArgs : Head {
  const char* name = nullptr;
  size_t name_size = 0;
  const NamedValue* options = nullptr;
  size_t option_count = 0;
  Topology* topology = nullptr;  // out
};
struct TopologyArgs : Head {
  Topology* topology = nullptr;
};

// Element types of buffers.
enum ElementType : int {
  kPred = 1,
  kS8 = 2,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kBf16 = 13
};
inline constexpr int kImmutableOnlyDuringCall = 0;  // the plug-in copies the host's bytes
struct BufferFromHostArgs : Head {
  Client* client = nullptr;
  const void* data = nullptr;
  int type = 0;
  const int64_t* dims = nullptr;
  size_t rank = 0;
  const int64_t* byte_strides = nullptr;
  size_t stride_count = 0;
  int semantics = kImmutableOnlyDuringCall;
  Device* device = nullptr;
  void* memory = nullptr;
  void* layout = nullptr;
  Event* done_with_host_buffer = nullptr;  // out
  Buffer* buffer = nullptr;                // out
};
struct BufferToHostArgs : Head {
  Buffer* buffer = nullptr;
  void* layout = nullptr;
  void* to = nullptr;
  size_t size = 0;
  Event* event = nullptr;  // out
};
struct BufferArgs : Head {
  Buffer* buffer = nullptr;
};

struct DeviceDescriptionArgs : Head {
  Device* device = nullptr;
  DeviceDescription* description = nullptr;  // out
};
struct DescriptionIdArgs : Head {
  DeviceDescription* description = nullptr;
  int id = 0;  // out
};
struct DescriptionTextArgs : Head {
  DeviceDescription* description = nullptr;
  const char* text = nullptr;  // out
  size_t text_size = 0;        // out
};
struct MemoryStat {
  int64_t value;
  bool is_set;
};
struct DeviceMemoryArgs : Head {
  Device* device = nullptr;
  int64_t bytes_in_use = 0;             // out
  MemoryStat peak_bytes_in_use = {};    // out
  MemoryStat allocations = {};          // out
  MemoryStat largest_allocation = {};   // out
  MemoryStat bytes_limit = {};          // out
  MemoryStat bytes_reserved = {};       // out
  MemoryStat peak_bytes_reserved = {};  // out
  MemoryStat reservable_limit = {};     // out
  MemoryStat largest_free_block = {};   // out
  MemoryStat pool_bytes = {};           // out
  MemoryStat peak_pool_bytes = {};      // out
};

struct ExecuteOptions : Head {
  void* send_callbacks = nullptr;
  void* receive_callbacks = nullptr;
  size_t send_count = 0;
  size_t receive_count = 0;
  int launch_id = 0;
  const int64_t* kept_inputs = nullptr;  // indices of arguments that are not donated
  size_t kept_count = 0;
  void* context = nullptr;
  const char* call_location = nullptr;
  size_t task_count = 0;
  int* task_ids = nullptr;
  int64_t* incarnation_ids = nullptr;
};
struct ExecuteArgs : Head {
  LoadedExecutable* executable = nullptr;
  ExecuteOptions* options = nullptr;
  Buffer* const* const* arguments = nullptr;  // by device and argument
  size_t device_count = 0;
  size_t argument_count = 0;
  Buffer** const* outputs = nullptr;  // out, by device and output
  Event** done = nullptr;             // out, by device; reached when the program ends
  Device* device = nullptr;
};
struct LoadedExecutableArgs : Head {
  LoadedExecutable* executable = nullptr;
};
struct GetExecutableArgs : Head {
  LoadedExecutable* loaded = nullptr;
  Executable* executable = nullptr;  // out
};
struct ExecutableArgs : Head {
  Executable* executable = nullptr;
};
struct SerializeArgs : Head {
  const Executable* executable = nullptr;
  const char* bytes = nullptr;          // out
  size_t size = 0;                      // out
  void* owner = nullptr;                // out: the argument for `free`
  void (*free)(void* owner) = nullptr;  // out: frees `bytes`
};
struct DeserializeArgs : Head {
  Client* client = nullptr;
  const char* bytes = nullptr;
  size_t size = 0;
  LoadedExecutable* executable = nullptr;  // out
  const char* options = nullptr;           // null: the options of its compilation
  size_t options_size = 0;
};
struct CompiledMemoryArgs : Head {
  Executable* executable = nullptr;
  int64_t code_bytes = 0;       // out
  int64_t argument_bytes = 0;   // out
  int64_t output_bytes = 0;     // out
  int64_t alias_bytes = 0;      // out: results that are written over arguments
  int64_t temporary_bytes = 0;  // out
  int64_t host_code_bytes = 0, host_argument_bytes = 0, host_output_bytes = 0,  // out
      host_alias_bytes = 0, host_temporary_bytes = 0;
  int64_t peak_bytes = 0;  // out
};

// A function of the API.
template <class Args>
using Call = Error* (*)(Args*);

// An extension of the API: an entry of a list that begins at Api::extension.
struct Extension {
  size_t struct_size;
  int type;
  const Extension* next;
};

// The profiler of a plug-in (xla/backends/profiler/plugin/profiler_c_api.h), whose errors are of a type of their own.
struct Profiler;
struct ProfilerError;
struct ProfilerErrorArgs {
  size_t struct_size = sizeof(ProfilerErrorArgs);
  void* unused = nullptr;
  ProfilerError* error = nullptr;
};
struct ProfilerMessageArgs {
  size_t struct_size = sizeof(ProfilerMessageArgs);
  void* unused = nullptr;
  const ProfilerError* error = nullptr;
  const char* message = nullptr;  // out
  size_t message_size = 0;        // out
};
struct ProfilerCreateArgs {
  size_t struct_size = sizeof(ProfilerCreateArgs);
  const char* options = nullptr;  // a serialized message ProfileOptions
  size_t options_size = 0;
  Profiler* profiler = nullptr;  // out
};
struct ProfilerArgs {
  size_t struct_size = sizeof(ProfilerArgs);
  Profiler* profiler = nullptr;
};
struct ProfilerCollectArgs {
  size_t struct_size = sizeof(ProfilerCollectArgs);
  Profiler* profiler = nullptr;
  uint8_t* buffer =
      nullptr;  // null: the plug-in gives the size, and a buffer of its own if it has one
  size_t buffer_size = 0;  // out
};
template <class Args>
using ProfilerCall = ProfilerError* (*)(Args*);
struct ProfilerApi {
  size_t struct_size;
  void* unused;
  void (*error_destroy)(ProfilerErrorArgs*);
  void (*error_message)(ProfilerMessageArgs*);
  void* error_code;
  ProfilerCall<ProfilerCreateArgs> create;
  ProfilerCall<ProfilerArgs> destroy, start, stop;
  ProfilerCall<ProfilerCollectArgs> collect;
};
struct ProfilerExtension : Extension {
  static constexpr int kType = 1;
  const ProfilerApi* api;
};
// A function that hone does not call, or an array of them.
using Unused = void*;

// The functions in the order of the plug-in's table.
struct Api {
  size_t struct_size;
  const Extension* extension;
  struct Version {
    size_t struct_size;
    void* extension;
    int major, minor;
  } version;
  void (*error_destroy)(ErrorArgs*);
  void (*error_message)(ErrorMessageArgs*);
  Unused error_code;
  Call<InitializeArgs> plugin_initialize;
  Call<AttributesArgs> plugin_attributes;
  Call<EventArgs> event_destroy;
  Unused event_is_ready, event_error;
  Call<EventArgs> event_await;
  Unused event_on_ready;
  Call<ClientCreateArgs> client_create;
  Call<ClientArgs> client_destroy;
  Call<ClientTextArgs> client_platform_name;
  Unused client_process_index;
  Call<ClientTextArgs> client_platform_version;
  Unused client_devices;
  Call<ClientDevicesArgs> client_addressable_devices;
  Unused client_lookup[3];
  Call<ClientCompileArgs> client_compile;
  Unused client_device_assignment;
  Call<BufferFromHostArgs> client_buffer_from_host;
  Call<DescriptionIdArgs> description_id;
  Unused description_process_and_attributes[2];
  Call<DescriptionTextArgs> description_kind;
  Unused description_debug;
  Call<DescriptionTextArgs> description_text;
  Call<DeviceDescriptionArgs> device_description;
  Unused device_queries[4];
  Call<DeviceMemoryArgs> device_memory;
  Unused memory_queries[5];
  Call<ExecutableArgs> executable_destroy;
  Unused executable_queries[8];
  Call<SerializeArgs> executable_serialize;
  Call<LoadedExecutableArgs> loaded_destroy;
  Call<GetExecutableArgs> loaded_executable;
  Unused loaded_queries[3];
  Call<ExecuteArgs> execute;
  Call<DeserializeArgs> deserialize;
  Unused fingerprint;
  Call<BufferArgs> buffer_destroy;
  Unused buffer_queries[11];
  Call<BufferToHostArgs> buffer_to_host;
  Unused buffer_more[11];
  Call<TopologyCreateArgs> topology_create;
  Call<TopologyArgs> topology_destroy;
  Unused topology_queries[5];
  Call<CompileArgs> compile;
  Unused later[6];
  Call<CompiledMemoryArgs> compiled_memory;
};

}  // namespace hone::xla::pjrt
