import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from collections import OrderedDict

torch.manual_seed(0)
rng = np.random.RandomState(0)


class MAMLModel(nn.Module):
    def __init__(self):
        super(MAMLModel, self).__init__()
        self.model = nn.Sequential(OrderedDict([
            ('l1', nn.Linear(1, 40)),
            ('relu1', nn.ReLU()),
            ('l2', nn.Linear(40, 40)),
            ('relu2', nn.ReLU()),
            ('l3', nn.Linear(40, 1))
        ]))

    def forward(self, x):
        return self.model(x)

    def parameterised(self, x, weights):
        x = F.linear(x, weights[0], weights[1])
        x = F.relu(x)
        x = F.linear(x, weights[2], weights[3])
        x = F.relu(x)
        x = F.linear(x, weights[4], weights[5])
        return x


class SineTask:
    def __init__(self):
        self.amplitude, self.phase = rng.uniform(0.1, 5.0), rng.uniform(0, np.pi)

    def sample_data(self, size=10):
        x = rng.uniform(-5, 5, size)
        y = self.amplitude * np.sin(x + self.phase)
        return torch.tensor(x, dtype=torch.float).unsqueeze(1), torch.tensor(y, dtype=torch.float).unsqueeze(1)


class MAML():
    def __init__(self, model, inner_lr, meta_lr, K=10, inner_steps=2, tasks_per_meta_batch=5):
        self.model = model
        self.weights = list(model.parameters())
        self.meta_optimiser = torch.optim.Adam(self.weights, meta_lr)
        self.inner_lr, self.K = inner_lr, K
        self.inner_steps, self.tasks_per_meta_batch = inner_steps, tasks_per_meta_batch
        self.criterion = nn.MSELoss()

    def inner_loop(self, task):
        temp_weights = [w.clone() for w in self.weights]
        X, y = task.sample_data(self.K)
        for step in range(self.inner_steps):
            loss = self.criterion(self.model.parameterised(X, temp_weights), y) / self.K
            grad = torch.autograd.grad(loss, temp_weights, create_graph=True)
            temp_weights = [w - self.inner_lr * g for w, g in zip(temp_weights, grad)]
        X, y = task.sample_data(self.K)
        return self.criterion(self.model.parameterised(X, temp_weights), y) / self.K

    def main_loop(self, num_iterations):
        for iteration in range(1, num_iterations + 1):
            meta_loss = 0
            for i in range(self.tasks_per_meta_batch):
                meta_loss += self.inner_loop(SineTask())
            meta_grads = torch.autograd.grad(meta_loss, self.weights)
            for w, g in zip(self.weights, meta_grads):
                w.grad = g
            self.meta_optimiser.step()
            print("loss {:.6f}".format(meta_loss.item() / self.tasks_per_meta_batch))


MAML(MAMLModel(), inner_lr=0.01, meta_lr=0.001).main_loop(12)
