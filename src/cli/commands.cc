#include "cli/commands.h"

#include <array>

namespace lathe::cli {
namespace {

constexpr std::array kCommands{
    &kUp,
    &kDown,
    &kStatus,
    &kDoctor,
    &kWorkspaceInit,
    &kWorkspaceShow,
    &kComputeCreate,
    &kComputeList,
    &kComputeShow,
    &kComputeDelete,
    &kRunSubmit,
    &kRunList,
    &kRunShow,
    &kRunLogs,
    &kRunWait,
    &kRunCancel,
    &kRunFiles,
    &kRunDownload,
    &kRunTag,
    &kRunArchive,
    &kRunDelete,
    &kExperimentList,
    &kExperimentShow,
    &kModelList,
    &kModelShow,
    &kModelRegister,
    &kModelDownload,
    &kModelDelete,
    &kModelLineage,
    &kDataList,
    &kDataShow,
    &kDataRegister,
    &kDataDownload,
    &kDatastoreList,
    &kDatastoreUpload,
    &kDatastoreDownload,
    &kTokenCreate,
    &kTokenList,
    &kTokenRevoke,
    &kSecretRotateKeys,
    &kStorePut,
    &kStoreStats,
    &kStoreVerify,
    &kStoreGc,
    &kBackup,
    &kRestore,
    &kServer,
    &kRunner,
    &kCompletion,
    &kMan,
    &kReference,
    &kVersion,
};

constexpr std::array kGroups{
    Group{"workspace", "The workspace that this folder works in"},
    Group{"compute", "Compute targets: named pools of nodes"},
    Group{"run", "Runs: submit, follow, fetch"},
    Group{"experiment", "Experiments: the names that runs are grouped under"},
    Group{"model", "Registered models: versions that know where they come from"},
    Group{"data", "Datasets: named, versioned references to files"},
    Group{"datastore", "Datastores: where files live"},
    Group{"token", "Tokens: who may use the server, and for what"},
    Group{"secret", "Secrets: the keys that encrypt them"},
    Group{"store", "The content store"},
};

constexpr std::array kGlobals{
    Option{.name = "output",
           .letter = 'o',
           .value = "FORMAT",
           .help = "how data is printed",
           .fallback = "table",
           .choices = "table|json"},
    Option{.name = "workspace",
           .letter = 'w',
           .value = "NAME",
           .help = "the workspace; else the one of config.json in this folder or a parent, else 'default'"},
    Option{.name = "state",
           .value = "DIR",
           .help = "the server's state folder (LATHE_STATE)",
           .fallback = "$XDG_STATE_HOME/lathe or ~/.local/state/lathe",
           .completes = Completes::folder},
    Option{
        .name = "server", .value = "URL", .help = "the server's address (LATHE_SERVER); else the state folder tells"},
    Option{.name = "token-file",
           .value = "FILE",
           .help = "the file with the token (LATHE_TOKEN_FILE)",
           .fallback = "token in the state folder",
           .completes = Completes::file},
};

}  // namespace

Catalogue catalogue() { return {.commands = kCommands, .groups = kGroups, .globals = kGlobals}; }

}  // namespace lathe::cli
