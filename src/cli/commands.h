// Every command of `lathe`, each in the file of its name, and the table of them all.
#pragma once

#include "cli/command.h"

namespace lathe::cli {

extern const Command kUp, kDown, kStatus, kDoctor, kVersion;
extern const Command kWorkspaceInit, kWorkspaceShow;
extern const Command kComputeCreate, kComputeList, kComputeShow, kComputeDelete;
extern const Command kRunSubmit, kRunList, kRunShow, kRunLogs, kRunWait, kRunCancel, kRunFiles, kRunDownload, kRunTag,
    kRunArchive, kRunDelete;
extern const Command kExperimentList, kExperimentShow;
extern const Command kModelList, kModelShow, kModelRegister, kModelDownload, kModelDelete, kModelLineage;
extern const Command kDataList, kDataShow, kDataRegister, kDataDownload;
extern const Command kDatastoreList, kDatastoreUpload, kDatastoreDownload;
extern const Command kEnvList, kEnvShow, kEnvBuild, kEnvBuilds, kEnvExplain, kEnvLockShow, kEnvLockExport,
    kEnvLockImport, kEnvGc;
extern const Command kTokenCreate, kTokenList, kTokenRevoke;
extern const Command kSecretRotateKeys;
extern const Command kStorePut, kStoreStats, kStoreVerify, kStoreGc;
extern const Command kBackup, kRestore;
extern const Command kServer, kRunner;
extern const Command kCompletion, kMan, kReference;

Catalogue catalogue();

}  // namespace lathe::cli
