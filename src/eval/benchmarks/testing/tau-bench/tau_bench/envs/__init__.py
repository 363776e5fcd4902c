def get_env(env_name, user_strategy, user_model, task_split, user_provider=None, task_index=None):
    if env_name != "retail":
        raise ValueError(f"Unknown environment: {env_name}")
    from tau_bench.envs.retail import RetailEnv

    return RetailEnv(user_strategy, user_model, task_split, user_provider, task_index)
