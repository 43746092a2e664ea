// hone's declaration of the PJRT C API against the header that comes with the plug-in's wheel.
#include "engine/backends/xla/pjrt_api.h"

#include <gtest/gtest.h>

#if __has_include(<pjrt_c_api.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <pjrt_c_api.h>
#pragma GCC diagnostic pop
#define HONE_HAS_PJRT_HEADER
#endif

namespace hone::xla::pjrt {
namespace {

#ifdef HONE_HAS_PJRT_HEADER
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

#define SAME(own, own_member, theirs, their_member) \
  EXPECT_EQ(offsetof(own, own_member), offsetof(theirs, their_member)) << #own "." #own_member
#define SAME_SIZE(own, theirs) EXPECT_EQ(sizeof(own), sizeof(theirs)) << #own
#define FUNCTION(member, name) SAME(Api, member, PJRT_Api, PJRT_##name)

TEST(PjrtApi, FunctionsHaveThePlacesOfTheHeader) {
  SAME(Api, version, PJRT_Api, pjrt_api_version);
  FUNCTION(error_destroy, Error_Destroy);
  FUNCTION(error_message, Error_Message);
  FUNCTION(plugin_initialize, Plugin_Initialize);
  FUNCTION(plugin_attributes, Plugin_Attributes);
  FUNCTION(event_destroy, Event_Destroy);
  FUNCTION(event_await, Event_Await);
  FUNCTION(client_create, Client_Create);
  FUNCTION(client_destroy, Client_Destroy);
  FUNCTION(client_platform_name, Client_PlatformName);
  FUNCTION(client_platform_version, Client_PlatformVersion);
  FUNCTION(client_addressable_devices, Client_AddressableDevices);
  FUNCTION(client_compile, Client_Compile);
  FUNCTION(client_buffer_from_host, Client_BufferFromHostBuffer);
  FUNCTION(description_id, DeviceDescription_Id);
  FUNCTION(description_kind, DeviceDescription_Kind);
  FUNCTION(description_text, DeviceDescription_ToString);
  FUNCTION(device_description, Device_GetDescription);
  FUNCTION(device_memory, Device_MemoryStats);
  FUNCTION(executable_destroy, Executable_Destroy);
  FUNCTION(executable_serialize, Executable_Serialize);
  FUNCTION(deserialize, Executable_DeserializeAndLoad);
  FUNCTION(loaded_destroy, LoadedExecutable_Destroy);
  FUNCTION(loaded_executable, LoadedExecutable_GetExecutable);
  FUNCTION(execute, LoadedExecutable_Execute);
  FUNCTION(buffer_destroy, Buffer_Destroy);
  FUNCTION(buffer_to_host, Buffer_ToHostBuffer);
  FUNCTION(topology_create, TopologyDescription_Create);
  FUNCTION(topology_destroy, TopologyDescription_Destroy);
  FUNCTION(compile, Compile);
  FUNCTION(compiled_memory, Executable_GetCompiledMemoryStats);
}

TEST(PjrtApi, ArgumentsHaveTheLayoutsOfTheHeader) {
  SAME(ErrorMessageArgs, message_size, PJRT_Error_Message_Args, message_size);
  SAME(AttributesArgs, count, PJRT_Plugin_Attributes_Args, num_attributes);
  SAME(NamedValue, type, PJRT_NamedValue, type);
  SAME(NamedValue, int64_value, PJRT_NamedValue, int64_value);
  SAME_SIZE(NamedValue, PJRT_NamedValue);
  SAME(ClientCreateArgs, client, PJRT_Client_Create_Args, client);
  SAME_SIZE(ClientCreateArgs, PJRT_Client_Create_Args);
  SAME_SIZE(ClientTextArgs, PJRT_Client_PlatformName_Args);
  SAME(ClientDevicesArgs, count, PJRT_Client_AddressableDevices_Args, num_addressable_devices);
  SAME(SourceText, format, PJRT_Program, format);
  SAME_SIZE(SourceText, PJRT_Program);
  SAME(ClientCompileArgs, executable, PJRT_Client_Compile_Args, executable);
  SAME(CompileArgs, executable, PJRT_Compile_Args, executable);
  SAME(TopologyCreateArgs, topology, PJRT_TopologyDescription_Create_Args, topology);
  SAME(BufferFromHostArgs, semantics, PJRT_Client_BufferFromHostBuffer_Args, host_buffer_semantics);
  SAME(BufferFromHostArgs, device, PJRT_Client_BufferFromHostBuffer_Args, device);
  SAME(BufferFromHostArgs, buffer, PJRT_Client_BufferFromHostBuffer_Args, buffer);
  SAME_SIZE(BufferFromHostArgs, PJRT_Client_BufferFromHostBuffer_Args);
  SAME(BufferToHostArgs, to, PJRT_Buffer_ToHostBuffer_Args, dst);
  SAME_SIZE(BufferToHostArgs, PJRT_Buffer_ToHostBuffer_Args);
  SAME_SIZE(DeviceDescriptionArgs, PJRT_Device_GetDescription_Args);
  SAME_SIZE(DescriptionIdArgs, PJRT_DeviceDescription_Id_Args);
  SAME_SIZE(DescriptionTextArgs, PJRT_DeviceDescription_Kind_Args);
  SAME(DeviceMemoryArgs, bytes_limit, PJRT_Device_MemoryStats_Args, bytes_limit);
  SAME(DeviceMemoryArgs, bytes_limit.is_set, PJRT_Device_MemoryStats_Args, bytes_limit_is_set);
  SAME_SIZE(DeviceMemoryArgs, PJRT_Device_MemoryStats_Args);
  SAME(ExecuteOptions, kept_inputs, PJRT_ExecuteOptions, non_donatable_input_indices);
  SAME_SIZE(ExecuteOptions, PJRT_ExecuteOptions);
  SAME(ExecuteArgs, outputs, PJRT_LoadedExecutable_Execute_Args, output_lists);
  SAME(ExecuteArgs, device, PJRT_LoadedExecutable_Execute_Args, execute_device);
  SAME_SIZE(ExecuteArgs, PJRT_LoadedExecutable_Execute_Args);
  SAME(GetExecutableArgs, executable, PJRT_LoadedExecutable_GetExecutable_Args, executable);
  SAME(SerializeArgs, owner, PJRT_Executable_Serialize_Args, serialized_executable);
  SAME(SerializeArgs, free, PJRT_Executable_Serialize_Args, serialized_executable_deleter);
  SAME_SIZE(SerializeArgs, PJRT_Executable_Serialize_Args);
  SAME(DeserializeArgs, executable, PJRT_Executable_DeserializeAndLoad_Args, loaded_executable);
  SAME_SIZE(DeserializeArgs, PJRT_Executable_DeserializeAndLoad_Args);
  SAME(CompiledMemoryArgs, temporary_bytes, PJRT_Executable_GetCompiledMemoryStats_Args,
       temp_size_in_bytes);
  SAME_SIZE(CompiledMemoryArgs, PJRT_Executable_GetCompiledMemoryStats_Args);
  EXPECT_EQ(static_cast<int>(kPred), static_cast<int>(PJRT_Buffer_Type_PRED));
  EXPECT_EQ(static_cast<int>(kS8), static_cast<int>(PJRT_Buffer_Type_S8));
  EXPECT_EQ(static_cast<int>(kS32), static_cast<int>(PJRT_Buffer_Type_S32));
  EXPECT_EQ(static_cast<int>(kS64), static_cast<int>(PJRT_Buffer_Type_S64));
  EXPECT_EQ(static_cast<int>(kU8), static_cast<int>(PJRT_Buffer_Type_U8));
  EXPECT_EQ(static_cast<int>(kF16), static_cast<int>(PJRT_Buffer_Type_F16));
  EXPECT_EQ(static_cast<int>(kF32), static_cast<int>(PJRT_Buffer_Type_F32));
  EXPECT_EQ(static_cast<int>(kF64), static_cast<int>(PJRT_Buffer_Type_F64));
  EXPECT_EQ(static_cast<int>(kBf16), static_cast<int>(PJRT_Buffer_Type_BF16));
  EXPECT_EQ(NamedValue::kInt64, static_cast<int>(PJRT_NamedValue_kInt64));
  EXPECT_EQ(kImmutableOnlyDuringCall,
            static_cast<int>(PJRT_HostBufferSemantics_kImmutableOnlyDuringCall));
}
#else
TEST(PjrtApi, HasTheLayoutsOfTheHeader) {
  GTEST_SKIP() << "there is no pjrt_c_api.h: pip install xla-cpu-pjrt, then configure again";
}
#endif

}  // namespace
}  // namespace hone::xla::pjrt
